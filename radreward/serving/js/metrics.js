// The metrics of the service, and the table of their scores.

const metrics = JSON.parse(byId("data").textContent).metrics;
const metricOf = new Map(metrics.map((metric) => [metric.name, metric]));

const rangeText = ([low, high]) =>
  isDefined(low) || isDefined(high)
    ? `${isDefined(low) ? significantDigits(low) : "−∞"} to ${isDefined(high) ? significantDigits(high) : "∞"}`
    : "unbounded";

function scoreTable(scores) {
  const heads = [
    ["Metric", null],
    ["Total", "n"],
    ["Range", "extra"],
    ["Quality", "n"],
    ["Errors", "n"],
    ["Status", null],
  ];
  const rows = Object.entries(scores).map(([name, { total, quality, errors, status }]) => {
    const metric = metricOf.get(name);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, metric.title, el("small", {}, metric.summary)),
      el("td", { class: "n total" }, fixed(total)),
      el("td", { class: "muted extra" }, rangeText(metric.total_range)),
      el("td", { class: "n" }, fixed(quality)),
      el("td", { class: "n" }, fixed(errors, 1)),
      el("td", { class: isDefined(total) ? null : "bad" }, status),
    );
  });
  const head = heads.map(([title, kind]) => el("th", { scope: "col", class: kind }, title));
  return scrollBox("Scores", el("table", { class: "scores" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}

const MIN_LISTED = 0.05;
const errorsTitle = (tag) => tag.replaceAll("_", " ");
const numberCells = (...values) => values.map((value) => el("td", { class: "n" }, value));

// Tables of the expected errors by the metrics that count them.
const countTables = (scores) =>
  Object.entries(scores)
    .filter(([name, { total }]) => metricOf.get(name).criteria && isDefined(total))
    .map(([name, score]) => {
      const { criteria } = metricOf.get(name);
      const caption = el("caption", {}, `Expected errors by ${metricOf.get(name).title}`);
      return isSum(score, criteria) ? sumTable(caption, score, criteria) : countTable(caption, score.error_counts);
    });

// True if the total is the sum of one sub-score per criterion.
function isSum({ total, sub_scores: parts }, { max_total: start, criteria }) {
  const values = Object.values(parts);
  if (!isDefined(total) || values.length !== criteria.length || !values.every(isDefined)) return false;
  const sum = values.reduce((left, right) => left + right, start);
  return Math.abs(sum - total) <= 1e-4 * Math.max(1, Math.abs(total));
}

// The errors beside the points that they cost: together with the other criteria, these are the total.
function sumTable(caption, { total, sub_scores: points, error_counts: counts }, { max_total: start, criteria }) {
  const rows = Object.keys(points)
    .map((tag, index) => ({ tag, points: points[tag], count: counts[tag], weight: criteria[index].weight }))
    .sort((a, b) => a.points - b.points);
  const isListed = (row) => Math.abs(row.points) >= MIN_LISTED || row.count >= MIN_LISTED;
  const rest = rows.filter((row) => !isListed(row));
  const sumOf = (key) => rest.reduce((sum, row) => sum + row[key], 0);
  const row = (title, ...values) => el("tr", {}, el("th", { scope: "row" }, title), numberCells(...values));
  const head = ["Criterion", "Errors", "Weight", "Points"].map((title, index) =>
    el("th", { scope: "col", class: index ? "n" : null }, title),
  );
  return el(
    "div",
    { class: "sum" },
    scrollBox(
      "Expected errors",
      el(
        "table",
        { class: "parts" },
        caption,
        el("thead", {}, el("tr", {}, head)),
        el(
          "tbody",
          {},
          start ? row("Without errors", NONE, NONE, fixed(start)) : null,
          rows.filter(isListed).map((entry) =>
            row(errorsTitle(entry.tag), fixed(entry.count), significantDigits(entry.weight), fixed(entry.points)),
          ),
          rest.length ? row(plural(rest.length, "other criterion", "other criteria"), fixed(sumOf("count")), NONE, fixed(sumOf("points"))) : null,
        ),
        el("tfoot", {}, row("Total", NONE, NONE, fixed(total))),
      ),
    ),
    el(
      "p",
      { class: "muted" },
      "The total is the sum of the points. ",
      rows.some((entry) => Math.abs(entry.points + entry.weight * entry.count) >= 0.01)
        ? "The model predicts the points. It learned them from −weight × errors, but its scale is its own: a calibration converts points to errors."
        : "Points are −weight × errors.",
    ),
  );
}

// Expected errors; the largest first, and none that rounds to zero.
function countTable(caption, errorCounts) {
  const counts = Object.entries(errorCounts)
    .filter(([, count]) => isDefined(count) && count >= MIN_LISTED)
    .sort((a, b) => b[1] - a[1]);
  const row = ([tag, count]) => el("tr", {}, el("th", { scope: "row" }, errorsTitle(tag)), numberCells(fixed(count)));
  const body = counts.length ? counts.map(row) : el("tr", {}, el("td", {}, "None"));
  return el("table", { class: "parts" }, caption, el("tbody", {}, body));
}
