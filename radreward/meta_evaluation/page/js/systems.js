// Which report generator is better, and whether metrics order generators as people do.

const systems = {
  id: "systems",
  title: "Systems",
  uses: ["target", "scorer"],
  none: () => (results.systems.length ? null : "The candidates are not told apart by who wrote them."),
  lead: () =>
    `Mean score of each system by ${titleOf(state.scorer)} (${direction(scorers[scorerNumber.get(state.scorer)])}), with 95 % intervals from resampling cases; and paired tests between systems, Holm-corrected.`,
  draw(node) {
    const own = results.systems.filter((entry) => entry.scorer === state.scorer);
    if (own.length) add(node, systemMeans(own));
    const tests = results.system_pairs.filter((entry) => entry.scorer === state.scorer);
    if (tests.length) add(node, el("h3", {}, "The system on the left less the one above"), systemTests(own, tests));
    const ranks = results.system_ranks.filter((entry) => entry.target === state.target);
    if (ranks.length)
      add(
        node,
        el("h3", {}, `Do metrics order systems as people do? “${targetTitle(state.target)}”`),
        systemRanks(ranks),
      );
  },
};

function systemMeans(own) {
  const values = own.flatMap((entry) => [entry.mean, entry.low, entry.high]).filter(known);
  const axis = axisOf(values, Math.min(...values), Math.max(...values));
  const up = scorers[scorerNumber.get(state.scorer)].higher_is_better;
  const columns = [
    { title: "System", value: (row) => row.system, cell: (row) => row.system },
    { title: "Mean", numeric: true, value: (row) => row.mean, cell: (row) => plain(row.mean) },
    {
      title: "95 % interval",
      numeric: true,
      class: "extra",
      cell: (row) => (known(row.low) ? `${plain(row.low)} to ${plain(row.high)}` : NONE),
    },
    {
      title: "",
      class: "forest",
      head: axisHead(axis),
      cell: (row) => intervalPlot({ ...row, value: row.mean }, axis),
    },
    { title: "Pairs", numeric: true, value: (row) => row.n, cell: (row) => count(row.n) },
  ];
  return sortable(`systems ${state.scorer}`, "Systems by mean score", columns, own, [
    1,
    up ? "descending" : "ascending",
  ]);
}

function systemTests(own, tests) {
  const up = scorers[scorerNumber.get(state.scorer)].higher_is_better ? 1 : -1;
  const order = [...own].sort((a, b) => up * (b.mean - a.mean)).map(({ system }) => [system, system]);
  const most = Math.max(1e-9, ...tests.map((entry) => Math.abs(entry.difference ?? 0)));
  const cell = (one, other) => {
    const found = tests.find(
      (entry) => (entry.one === one && entry.other === other) || (entry.one === other && entry.other === one),
    );
    if (!found) return null;
    const sign = found.one === one ? 1 : -1;
    const [low, high] =
      sign > 0
        ? [found.low, found.high]
        : [known(found.high) ? -found.high : null, known(found.low) ? -found.low : null];
    const value = known(found.difference) ? sign * found.difference : null;
    const clear = known(found.p_holm) && found.p_holm < ALPHA;
    const told = `${one} less ${other}\n${plain(value)} (95 % interval ${plain(low)} to ${plain(high)})\np ${probability(found.p_holm)} (Holm), ${probability(found.p)} (uncorrected)`;
    return {
      text: plain(value, 2),
      heat: clear ? up * Math.sign(value) * (0.15 + (0.85 * Math.abs(value)) / most) : 0,
      faint: !clear,
      tip: told,
    };
  };
  return heatmap("Paired tests between systems", order, order, cell);
}

function systemRanks(ranks) {
  const values = ranks.map((entry) => entry.tau_b).filter(known);
  const axis = axisOf(values, 0, 1);
  const columns = [
    { title: "Metric", value: (row) => titleOf(row.scorer), cell: (row) => titleOf(row.scorer) },
    { title: "τ-b of systems", numeric: true, value: (row) => row.tau_b, cell: (row) => fixed(row.tau_b) },
    { title: "", class: "forest", head: axisHead(axis), cell: (row) => intervalPlot({ value: row.tau_b }, axis) },
    { title: "Systems", numeric: true, value: (row) => row.n, cell: (row) => count(row.n) },
  ];
  const rows = ranks.map((row) => ({ ...row, attributes: { class: row.scorer === state.scorer ? "focus" : null } }));
  return sortable("system ranks", "Rank agreement over systems", columns, rows, [1, "descending"]);
}
