// Inter-rater agreement: the reference level for metrics.

const interRater = {
  id: "raters",
  title: "Inter-rater agreement",
  dependsOn: ["target", "statistic"],
  emptyReason: () =>
    results.inter_rater.length
      ? null
      : "The data have one rater, or do not separate raters: inter-rater agreement is unknown.",
  intro: () =>
    `Agreement of raters on “${targetTitle(state.target)}”: each rater with the mean of the others, and pairwise.`,
  render(node) {
    const entries = results.inter_rater.filter((entry) => entry.target === state.target);
    if (!entries.length) {
      const separated = new Set(results.inter_rater.map((entry) => `“${entry.title}”`));
      const text = `The data do not separate raters for this target, but do for ${[...separated].join(", ")}.`;
      return add(node, el("p", { class: "muted" }, text));
    }
    const columns = [
      { title: "Rater, against the mean of the others", value: (row) => row.rater_a, cell: (row) => row.rater_a },
      ...Object.entries(SYMBOLS).map(([key, symbol]) => ({
        title: symbol,
        numeric: true,
        value: (row) => row[key],
        cell: (row) => fixed(row[key]),
      })),
      { title: "Pairs", numeric: true, value: (row) => row.n, cell: (row) => count(row.n) },
    ];
    const againstMean = entries.filter((entry) => entry.kind === "against_mean");
    const label = "Raters against the mean of the others";
    if (againstMean.length)
      add(node, el("div", { class: "narrow" }, sortable("raters", label, columns, againstMean, [0, "ascending"])));
    const pairwise = entries.filter((entry) => entry.kind === "pairwise");
    if (!pairwise.length) return;
    const raters = [...new Set(pairwise.flatMap((entry) => [entry.rater_a, entry.rater_b]))].map((name) => [
      name,
      name,
    ]);
    const cell = (a, b) => {
      const entry = pairwise.find(
        ({ rater_a, rater_b }) => (rater_a === a && rater_b === b) || (rater_a === b && rater_b === a),
      );
      const value = entry?.[state.statistic];
      return entry
        ? {
            text: fixed(value),
            heat: value,
            tooltip: `${a} and ${b}: ${SYMBOLS[state.statistic]} ${fixed(value, 3)}, ${plural(entry.n, "pair")}`,
          }
        : null;
    };
    add(
      node,
      el("h3", {}, `Pairwise agreement, ${STATISTICS[state.statistic]}`),
      heatmap("Pairwise agreement of raters", raters, raters, cell),
    );
  },
};
