// How well people agree among themselves: what a metric can be measured against at all.

const people = {
  id: "people",
  title: "People among themselves",
  uses: ["target", "statistic"],
  none: () =>
    results.inter_rater.length
      ? null
      : "There is one rater, or ratings are not told apart: nothing says how well people agree.",
  lead: () =>
    `Agreement of raters on “${targetTitle(state.target)}”: each with the mean of the others, and two by two.`,
  draw(node) {
    const own = results.inter_rater.filter((entry) => entry.target === state.target);
    if (!own.length)
      return add(
        node,
        el(
          "p",
          { class: "muted" },
          `On this judgement raters were not told apart; they were on ${[...new Set(results.inter_rater.map((entry) => `“${targetTitle(entry.target)}”`))].join(", ")}.`,
        ),
      );
    const columns = [
      { title: "Rater, against the mean of the others", value: (row) => row.rater, cell: (row) => row.rater },
      ...Object.entries(SIGNS).map(([key, sign]) => ({
        title: sign,
        numeric: true,
        value: (row) => row[key],
        cell: (row) => fixed(row[key]),
      })),
      { title: "Pairs", numeric: true, value: (row) => row.n, cell: (row) => count(row.n) },
    ];
    const against = own.filter((entry) => entry.kind === "against_others");
    if (against.length)
      add(
        node,
        el(
          "div",
          { class: "narrow" },
          sortable("people", "Raters against the others", columns, against, [0, "ascending"]),
        ),
      );
    const pairwise = own.filter((entry) => entry.kind === "pairwise");
    if (!pairwise.length) return;
    const raters = [...new Set(pairwise.flatMap((entry) => [entry.rater, entry.other]))].map((name) => [name, name]);
    const cell = (one, other) => {
      const found = pairwise.find(
        (entry) => (entry.rater === one && entry.other === other) || (entry.rater === other && entry.other === one),
      );
      const value = found?.[state.statistic];
      return found
        ? {
            text: fixed(value),
            heat: value,
            tip: `${one} and ${other}: ${SIGNS[state.statistic]} ${fixed(value, 3)}, ${plural(found.n, "pair")}`,
          }
        : null;
    };
    add(
      node,
      el("h3", {}, `Two by two, ${STATISTICS[state.statistic]}`),
      heatmap("Raters two by two", raters, raters, cell),
    );
  },
};
