// Sub-scores, error counts and evidence that a metric returned for a pair.

// Details of the selected metric for a pair; every output of a metric has the details of its total.
const scorerDetails = (pair) => pair.details[results.scorers.find(({ name }) => name === state.scorer)?.scorer] ?? {};

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
