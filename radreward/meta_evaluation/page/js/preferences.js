// Of two candidates, how often a metric prefers the one that people prefer.

const band = (confidence) => (confidence === "all" ? "all" : confidence.join("–"));

const preferences = {
  id: "preferences",
  title: "Preferences",
  uses: ["scorer"],
  none: () => (results.preferences.length ? null : "People did not choose between candidates."),
  lead: () =>
    "How often a metric prefers the candidate that people prefer, with 95 % intervals; 0.5 is chance. By the confidence of people on the right.",
  draw(node) {
    const found = keyed(
      results.preferences.map((entry) => ({ ...entry, band: band(entry.confidence) })),
      "scorer",
      "band",
    );
    const bands = [...new Set(results.preferences.map((entry) => band(entry.confidence)))].filter(
      (entry) => entry !== "all",
    );
    const rows = scorers
      .filter(({ name }) => results.preferences.some((entry) => entry.scorer === name))
      .map((scorer) => ({
        ...at(found, scorer.name, "all"),
        scorer,
        attributes: { class: scorer.name === state.scorer ? "focus" : null },
      }));
    const axis = axisOf(rows.flatMap((row) => [row.low, row.high]).filter(known), 0.5, 1);
    const columns = [
      { title: "Metric", value: (row) => row.scorer.title, cell: (row) => row.scorer.title },
      { title: "Accuracy", numeric: true, value: (row) => row.accuracy, cell: (row) => fixed(row.accuracy) },
      { title: "95 % interval", numeric: true, class: "extra", cell: (row) => interval(row.low, row.high) },
      {
        title: "",
        class: "forest",
        head: axisHead(axis),
        cell: (row) => intervalPlot({ ...row, value: row.accuracy }, axis, { level: 0.5 }),
      },
      ...bands.map((entry) => {
        const of = (row) => at(found, row.scorer.name, entry);
        return {
          title: `Confidence ${entry}`,
          numeric: true,
          value: (row) => of(row)?.accuracy,
          cell: (row) => fixed(of(row)?.accuracy),
          told: (row) =>
            of(row) &&
            `${row.scorer.title}, confidence ${entry}: ${fixed(of(row).accuracy, 3)} (${interval(of(row).low, of(row).high, 3)}), ${plural(of(row).n, "choice")}`,
        };
      }),
      { title: "Choices", numeric: true, class: "extra", value: (row) => row.n, cell: (row) => count(row.n) },
    ];
    add(
      node,
      wide("Preferences", sortable("preferences", "Metrics by preference accuracy", columns, rows, [1, "descending"])),
    );
  },
};
