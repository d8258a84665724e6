// Accuracy on preferences: how often a metric prefers the candidate that raters prefer.

const confidenceBand = (confidence) => (confidence === "all" ? "all" : confidence.join("–"));

const preferences = {
  id: "preferences",
  title: "Preferences",
  dependsOn: ["scorer"],
  emptyReason: () => (results.preferences.length ? null : "The data have no preferences between candidates."),
  intro: () =>
    "Share of preferences in which a metric prefers the same candidate as the raters, with 95 % intervals; 0.5 is chance. The columns on the right split it by the raters’ confidence.",
  render(node) {
    const entries = indexBy(
      results.preferences.map((entry) => ({ ...entry, band: confidenceBand(entry.confidence) })),
      "scorer",
      "band",
    );
    const bands = [...new Set(results.preferences.map((entry) => confidenceBand(entry.confidence)))].filter(
      (band) => band !== "all",
    );
    // A direct comparison by a language model has no scores, so it is not among the scorers.
    const titled = Object.fromEntries(scorers.map((scorer) => [scorer.name, scorer]));
    const rows = [...new Set(results.preferences.map((entry) => entry.scorer))]
      .map((name) => titled[name] ?? { name, title: name })
      .map((scorer) => ({
        ...lookUp(entries, scorer.name, "all"),
        scorer,
        attributes: { class: scorer.name === state.scorer ? "focus" : null },
      }));
    const axis = axisOf(rows.flatMap((row) => [row.low, row.high]).filter(isDefined), 0.5, 1);
    const columns = [
      { title: "Metric", value: (row) => row.scorer.title, cell: (row) => row.scorer.title },
      { title: "Accuracy", numeric: true, value: (row) => row.accuracy, cell: (row) => fixed(row.accuracy) },
      { title: "95 % interval", numeric: true, class: "extra", cell: (row) => interval(row.low, row.high) },
      {
        title: "",
        class: "forest",
        head: axisHead(axis),
        cell: (row) => intervalPlot({ ...row, value: row.accuracy }, axis, { referenceLine: 0.5 }),
      },
      ...bands.map((band) => bandColumn(band, (row) => lookUp(entries, row.scorer.name, band))),
      { title: "Preferences", numeric: true, class: "extra", value: (row) => row.n, cell: (row) => count(row.n) },
      {
        title: "Cases passed",
        numeric: true,
        class: "extra",
        headTooltip: "Cases in which every preference holds",
        value: (row) => row.cases_passed,
        cell: (row) => `${count(row.cases_passed)} of ${count(row.cases)}`,
      },
    ];
    const label = "Metrics by preference accuracy";
    add(node, scrollBox("Preferences", sortable("preferences", label, columns, rows, [1, "descending"])));
  },
};

const bandColumn = (band, entryOf) => ({
  title: `Confidence ${band}`,
  numeric: true,
  value: (row) => entryOf(row)?.accuracy,
  cell: (row) => fixed(entryOf(row)?.accuracy),
  cellTooltip: (row) => {
    const entry = entryOf(row);
    return (
      entry &&
      `${row.scorer.title}, confidence ${band}: ${fixed(entry.accuracy, 3)} (${interval(entry.low, entry.high, 3)}), ${plural(entry.n, "preference")}`
    );
  },
});
