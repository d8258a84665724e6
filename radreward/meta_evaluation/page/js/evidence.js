// Sub-scores, error counts and evidence that a metric returned for a pair.

// What the selected metric returned for a pair besides its score; its quality has the same details.
const scorerDetails = (pair) => pair.details[state.scorer] ?? pair.details[state.scorer.replace(/:quality$/, "")] ?? {};

const raterCounts = (pair) =>
  Object.fromEntries(
    criterionTargets.map(({ name }) => [name.slice(CRITERION_PREFIX.length), pair.targets[targetIndex.get(name)]]),
  );

// The raters' counts in one line, for metrics without sub-scores or with other criteria.
function raterCountsLine(pair) {
  const counts = Object.entries(raterCounts(pair)).filter(([, value]) => isDefined(value));
  if (!counts.length) return null;
  const errors = counts
    .filter(([, value]) => value !== 0)
    .map(([tag, value]) => `${criterionTitle(tag).toLowerCase()} ${significantDigits(value)}`);
  return el("p", { class: "muted" }, `Raters counted ${errors.join(", ") || "no errors"}.`);
}

// Per criterion: counts of the raters, counts of the metric, sub-scores.
function criteriaTable(pair) {
  const { sub_scores: subScores = {}, error_counts: counts = {} } = scorerDetails(pair);
  const tags = [...new Set([...Object.keys(counts), ...Object.keys(subScores)])];
  if (!tags.length) return null;
  const columns = [
    ["Raters", raterCounts(pair)],
    ["Metric", counts],
    ["Sub-score", subScores],
  ].filter(([, values]) => tags.some((tag) => isDefined(values[tag])));
  return scrollBox(
    "Sub-scores",
    el(
      "table",
      { class: "parts" },
      el("caption", {}, `${scorerTitle(state.scorer)}, per criterion`),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "Criterion"),
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
            columns.map(([, values]) => el("td", { class: "n" }, formatLikeColumn(values[tag], values))),
          ),
        ),
      ),
    ),
  );
}

// Two decimals if any value of the column is fractional, otherwise none.
const formatLikeColumn = (value, column) =>
  fixed(value, Object.values(column).every((entry) => Number.isInteger(entry ?? 0)) ? 0 : 2);

function evidenceDetails(pair) {
  const { evidence } = scorerDetails(pair);
  if (!isDefined(evidence)) return null;
  const summary = el("summary", {}, `Evidence of ${scorerTitle(state.scorer)}`);
  return el("details", { open: true }, summary, renderJSON(evidence));
}

// Any JSON: a list of objects as a table, an object as terms, everything else as text.
function renderJSON(value) {
  if (!isDefined(value)) return NONE;
  if (typeof value === "number") return significantDigits(value);
  if (typeof value !== "object") return el("span", { class: "report" }, String(value));
  if (!Array.isArray(value)) {
    return el(
      "dl",
      {},
      Object.entries(value).map(([key, entry]) => [
        el("dt", {}, key.replaceAll("_", " ")),
        el("dd", {}, renderJSON(entry)),
      ]),
    );
  }
  const isObjectList =
    value.length && value.every((entry) => entry && typeof entry === "object" && !Array.isArray(entry));
  if (isObjectList) return objectTable(value);
  return el(
    "ul",
    {},
    value.map((entry) => el("li", {}, renderJSON(entry))),
  );
}

function objectTable(rows) {
  const keys = [...new Set(rows.flatMap(Object.keys))];
  const isNumber = (row, key) => typeof row[key] === "number";
  const head = (key) =>
    el("th", { scope: "col", class: rows.every((row) => isNumber(row, key)) ? "n" : null }, key.replaceAll("_", " "));
  return scrollBox(
    "Evidence",
    el(
      "table",
      { class: "parts" },
      el("thead", {}, el("tr", {}, keys.map(head))),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el(
            "tr",
            {},
            keys.map((key) => el("td", { class: isNumber(row, key) ? "n" : null }, renderJSON(row[key]))),
          ),
        ),
      ),
    ),
  );
}
