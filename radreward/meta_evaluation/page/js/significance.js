// Pairwise comparison of metrics: permutation tests of their agreement with raters, and their mutual correlation.

const significance = {
  id: "significance",
  title: "Differences between metrics",
  dependsOn: ["target", "scorer"],
  emptyReason: () => (results.scorer_comparisons.length ? null : "No two metrics were compared."),
  intro: () =>
    `Kendall’s τ-b with “${targetTitle(state.target)}” of the metric in the row minus that of the metric in the column, over the same pairs. ` +
    `Shaded: p < ${ALPHA} in a permutation test, Holm-corrected for all comparisons in this table. Blue: the metric in the row agrees more with the raters.`,
  render(node) {
    const order = rankedScorers(state.target).map((entry) => [entry.name, entry.title]);
    const largest = Math.max(
      0.01,
      ...results.scorer_comparisons
        .filter((entry) => entry.target === state.target)
        .map((entry) => Math.abs(entry.difference ?? 0)),
    );
    const cell = (a, b) => {
      const comparison = a === b ? null : comparisonOf(state.target, a, b);
      if (!comparison) return null;
      const significant = isDefined(comparison.p_holm) && comparison.p_holm < ALPHA;
      const heat = Math.sign(comparison.difference) * (0.15 + (0.85 * Math.abs(comparison.difference)) / largest);
      return {
        text: compact(comparison.difference, true),
        heat: significant ? heat : 0,
        faint: !significant,
        tooltip: comparisonTooltip(comparison),
      };
    };
    add(node, heatmap("Differences between metrics", order, order, cell));
  },
  notes: () => powerNote(state.target) && el("p", { class: "notice" }, sentence(powerNote(state.target))),
};

const comparisonTooltip = (comparison) =>
  [
    `${scorerTitle(comparison.scorer_a)} minus ${scorerTitle(comparison.scorer_b)}`,
    isDefined(comparison.difference)
      ? `${signed(comparison.difference, 3)} τ-b (95 % interval ${interval(comparison.low, comparison.high, 3)})`
      : "undefined",
    isDefined(comparison.p_holm) && `p ${pValue(comparison.p_holm)} (permutation, Holm)`,
    isDefined(comparison.p_permutation) && `p ${pValue(comparison.p_permutation)} (permutation, uncorrected)`,
  ]
    .filter(Boolean)
    .join("\n");

// Correlation of metrics with each other, without the raters.
const correlation = {
  id: "correlation",
  title: "Correlation of metrics",
  dependsOn: ["target", "scorer"],
  emptyReason: () => (results.scorer_correlations?.names?.length > 1 ? null : "There are no two metrics to correlate."),
  intro: () =>
    "Kendall’s τ-b between the scores of two metrics, positive if they agree. Metrics are in the order of the ranking. Highly correlated metrics are redundant.",
  render(node) {
    const { names, tau_b: values } = results.scorer_correlations;
    const order = rankedScorers(state.target)
      .filter(({ name }) => names.includes(name))
      .map((entry) => [entry.name, entry.title]);
    const cell = (a, b) => {
      if (a === b) return null;
      const value = values[names.indexOf(a)][names.indexOf(b)];
      return {
        text: compact(value),
        heat: value,
        tooltip: `${scorerTitle(a)} and ${scorerTitle(b)}: τ-b ${fixed(value, 3)}`,
      };
    };
    add(node, heatmap("Correlation of metrics", order, order, cell));
  },
};
