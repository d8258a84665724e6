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
    ["Status", null],
  ];
  const rows = Object.entries(scores).map(([name, { total, quality, status }]) => {
    const metric = metricOf.get(name);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, metric.title, el("small", {}, metric.summary)),
      el("td", { class: "n total" }, fixed(total)),
      el("td", { class: "muted extra" }, rangeText(metric.total_range)),
      el("td", { class: "n" }, fixed(quality)),
      el("td", { class: isDefined(total) ? null : "bad" }, status),
    );
  });
  const head = heads.map(([title, kind]) => el("th", { scope: "col", class: kind }, title));
  return scrollBox("Scores", el("table", { class: "scores" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}

// Expected errors of the metrics that count them; the largest first, and none that rounds to zero.
function countTables(scores) {
  return Object.entries(scores)
    .map(([name, { error_counts: counts }]) => [
      metricOf.get(name).title,
      Object.entries(counts)
        .filter(([, count]) => isDefined(count) && count >= 0.05)
        .sort((a, b) => b[1] - a[1]),
      Object.keys(counts).length,
    ])
    .filter(([, , size]) => size)
    .map(([title, counts]) =>
      el(
        "table",
        { class: "parts" },
        el("caption", {}, `Expected errors by ${title}`),
        el(
          "tbody",
          {},
          counts.length
            ? counts.map(([tag, count]) =>
                el(
                  "tr",
                  {},
                  el("th", { scope: "row" }, tag.replaceAll("_", " ")),
                  el("td", { class: "n" }, fixed(count, 1)),
                ),
              )
            : el("tr", {}, el("td", {}, "None")),
        ),
      ),
    );
}
