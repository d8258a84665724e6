// System-level results: mean scores, tests between systems, and the order of systems by metrics and raters.

const systems = {
  id: "systems",
  title: "Systems",
  dependsOn: ["target", "scorer"],
  emptyReason: () =>
    results.system_means.length + results.system_differences.length
      ? null
      : "The data do not name the systems that wrote the candidates.",
  intro: () =>
    `Mean score per system by ${scorerTitle(state.scorer)} (${directionText(scorers[scorerIndex.get(state.scorer)])}), with 95 % bootstrap intervals over cases; and paired tests between systems, Holm-corrected. Tests use the cases with candidates of both systems only, so a difference can be unlike that of the means over all pairs.`,
  render(node) {
    const means = results.system_means.filter((entry) => entry.scorer === state.scorer);
    if (means.length) add(node, systemMeans(means));
    else
      add(
        node,
        el(
          "p",
          { class: "notice" },
          `${scorerTitle(state.scorer)} must not be averaged, because its best value depends on the reference. Select its quality or its errors.`,
        ),
      );
    const differences = results.system_differences.filter((entry) => entry.scorer === state.scorer);
    if (differences.length)
      add(node, el("h3", {}, "System in the row minus system in the column"), systemTests(means, differences));
    const agreements = results.system_rank_agreement.filter((entry) => entry.target === state.target);
    if (agreements.length)
      add(
        node,
        el("h3", {}, `Order of systems by metrics and by raters, “${targetTitle(state.target)}”`),
        systemRankAgreement(agreements),
      );
  },
};

function systemMeans(means) {
  const values = means.flatMap((entry) => [entry.mean, entry.low, entry.high]).filter(isDefined);
  const axis = axisOf(values, Math.min(...values), Math.max(...values));
  const higherIsBetter = scorers[scorerIndex.get(state.scorer)].higher_is_better;
  const columns = [
    { title: "System", value: (row) => row.system, cell: (row) => row.system },
    { title: "Mean", numeric: true, value: (row) => row.mean, cell: (row) => significantDigits(row.mean) },
    {
      title: "95 % interval",
      numeric: true,
      class: "extra",
      cell: (row) => (isDefined(row.low) ? `${significantDigits(row.low)} to ${significantDigits(row.high)}` : NONE),
    },
    {
      title: "",
      class: "forest",
      head: axisHead(axis),
      cell: (row) => intervalPlot({ ...row, value: row.mean }, axis),
    },
    { title: "Pairs", numeric: true, value: (row) => row.n, cell: (row) => count(row.n) },
  ];
  const order = [1, higherIsBetter ? "descending" : "ascending"];
  return sortable(`systems ${state.scorer}`, "Systems by mean score", columns, means, order);
}

function systemTests(means, differences) {
  const sign = scorers[scorerIndex.get(state.scorer)].higher_is_better ? 1 : -1;
  const names = means.length
    ? [...means].sort((a, b) => sign * (b.mean - a.mean)).map(({ system }) => system)
    : results.data.systems;
  const order = names.map((name) => [name, name]);
  const largest = Math.max(1e-9, ...differences.map((entry) => Math.abs(entry.difference ?? 0)));
  const cell = (a, b) => {
    const stored = differences.find((entry) => entry.system_a === a && entry.system_b === b);
    const reversed = differences.find((entry) => entry.system_a === b && entry.system_b === a);
    const entry = stored ?? (reversed && negated(reversed));
    if (!entry) return null;
    const { difference: value, low, high } = entry;
    const significant = isDefined(entry.p_holm) && entry.p_holm < ALPHA;
    const lines = [
      `${a} minus ${b}, ${plural(entry.n_clusters, "case")} with both`,
      `${significantDigits(value)} (95 % interval ${significantDigits(low)} to ${significantDigits(high)})`,
      `p ${pValue(entry.p_holm)} (Holm), ${pValue(entry.p)} (uncorrected)`,
    ];
    return {
      text: significantDigits(value, 2),
      heat: significant ? sign * Math.sign(value) * (0.15 + (0.85 * Math.abs(value)) / largest) : 0,
      faint: !significant,
      tooltip: lines.join("\n"),
    };
  };
  return heatmap("Paired tests between systems", order, order, cell);
}

function systemRankAgreement(agreements) {
  const values = agreements.map((entry) => entry.tau_b).filter(isDefined);
  const axis = axisOf(values, 0, 1);
  const columns = [
    { title: "Metric", value: (row) => scorerTitle(row.scorer), cell: (row) => scorerTitle(row.scorer) },
    { title: "τ-b over systems", numeric: true, value: (row) => row.tau_b, cell: (row) => fixed(row.tau_b) },
    { title: "", class: "forest", head: axisHead(axis), cell: (row) => intervalPlot({ value: row.tau_b }, axis) },
    { title: "Systems", numeric: true, value: (row) => row.n, cell: (row) => count(row.n) },
  ];
  const rows = agreements.map((row) => ({
    ...row,
    attributes: { class: row.scorer === state.scorer ? "focus" : null },
  }));
  return sortable("system ranks", "Rank agreement over systems", columns, rows, [1, "descending"]);
}
