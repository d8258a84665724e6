// What a metric said of a pair beside its score.

const countedByPeople = (pair) =>
  Object.fromEntries(
    criterionTargets.map(({ name }) => [name.slice("criterion:".length), pair.targets[targetNumber.get(name)]]),
  );

// What people counted, in a line: a metric may have no parts, or others.
function peoplesCounts(pair) {
  const judged = Object.entries(countedByPeople(pair)).filter(([, value]) => known(value));
  if (!judged.length) return null;
  const found = judged
    .filter(([, value]) => value !== 0)
    .map(([tag, value]) => `${criterionTitle(tag).toLowerCase()} ${plain(value)}`);
  return el("p", { class: "muted" }, `People counted ${found.join(", ") || "no errors"}.`);
}

// Criterion by criterion: what people counted, what the metric counted, its sub-scores.
function partsTable(pair) {
  const { sub = {}, counts = {} } = pair.details[state.scorer] ?? {};
  const counted = countedByPeople(pair);
  const tags = [...new Set([...Object.keys(counts), ...Object.keys(sub)])];
  if (!tags.length) return null;
  const columns = [
    ["People", counted],
    ["Counted", counts],
    ["Sub-score", sub],
  ].filter(([, values]) => tags.some((tag) => known(values[tag])));
  return wide(
    "Sub-scores",
    el(
      "table",
      { class: "parts" },
      el("caption", {}, `${titleOf(state.scorer)}, part by part`),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "Part"),
          columns.map(([title]) => el("th", { scope: "col", class: "n" }, title)),
        ),
      ),
      el(
        "tbody",
        {},
        tags.map((tag) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, tag.replaceAll("_", " ")),
            columns.map(([, values]) => el("td", { class: "n" }, shownAlike(values[tag], values))),
          ),
        ),
      ),
    ),
  );
}

// With decimals where any of them has some.
const shownAlike = (value, all) =>
  fixed(value, Object.values(all).every((entry) => Number.isInteger(entry ?? 0)) ? 0 : 2);

function evidenceOf(pair) {
  const evidence = pair.details[state.scorer]?.evidence;
  if (!known(evidence)) return null;
  return el("details", { open: true }, el("summary", {}, `Evidence of ${titleOf(state.scorer)}`), shownValue(evidence));
}

// Any JSON: lists of alike objects as a table, other objects as terms, the rest as text.
function shownValue(value) {
  if (!known(value)) return NONE;
  if (typeof value === "number") return plain(value);
  if (typeof value !== "object") return el("span", { class: "report" }, String(value));
  if (!Array.isArray(value)) {
    return el(
      "dl",
      {},
      Object.entries(value).map(([key, entry]) => [
        el("dt", {}, key.replaceAll("_", " ")),
        el("dd", {}, shownValue(entry)),
      ]),
    );
  }
  const keys =
    value.length && value.every((entry) => entry && typeof entry === "object" && !Array.isArray(entry))
      ? [...new Set(value.flatMap(Object.keys))]
      : null;
  if (!keys)
    return el(
      "ul",
      {},
      value.map((entry) => el("li", {}, shownValue(entry))),
    );
  const cells = (entry) =>
    keys.map((key) => el("td", { class: typeof entry[key] === "number" ? "n" : null }, shownValue(entry[key])));
  return wide(
    "Evidence",
    el(
      "table",
      { class: "parts" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          keys.map((key) =>
            el(
              "th",
              { scope: "col", class: value.every((entry) => typeof entry[key] === "number") ? "n" : null },
              key.replaceAll("_", " "),
            ),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        value.map((entry) => el("tr", {}, cells(entry))),
      ),
    ),
  );
}
