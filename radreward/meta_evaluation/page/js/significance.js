// Which metrics are told apart from which: paired tests of their agreement with people.

const significance = {
  id: "significance",
  title: "Differences between metrics",
  uses: ["target", "scorer"],
  none: () => (results.paired.length ? null : "No two metrics were tested against each other."),
  lead: () =>
    `Kendall’s τ-b with “${targetTitle(state.target)}” of the metric on the left less that of the metric above, over the same pairs. ` +
    `Shaded: p < ${ALPHA} by approximate randomisation, Holm-corrected for all the tests of this table; ` +
    `where no exchange reaches the difference, p is approximated by the tail of a normal distribution. Blue: the left one agrees better.`,
  draw(node) {
    const order = ranked(state.target).map((entry) => [entry.name, entry.title]);
    const most = Math.max(
      0.01,
      ...results.paired
        .filter((entry) => entry.target === state.target)
        .map((entry) => Math.abs(entry.difference ?? 0)),
    );
    const cell = (one, other) => {
      const found = one === other ? null : difference(state.target, one, other);
      if (!found) return null;
      const clear = known(found.p_holm) && found.p_holm < ALPHA;
      const size = Math.sign(found.difference) * (0.15 + (0.85 * Math.abs(found.difference)) / most);
      return {
        text: brief(found.difference, true),
        heat: clear ? size : 0,
        faint: !clear,
        tip: testTold(found, "τ-b"),
      };
    };
    add(node, heatmap("Differences between metrics", order, order, cell));
  },
};

function testTold(found, what) {
  const p = [
    ["Holm", found.p_holm],
    ["randomisation", found.p_randomised],
    ["normal tail, an approximation", found.p_tail < found.p_randomised ? found.p_tail : null],
    ["bootstrap", found.p_bootstrap],
    ["uncorrected", found.p],
  ];
  return [
    `${titleOf(found.one)} less ${titleOf(found.other)}`,
    known(found.difference)
      ? `${signed(found.difference, 3)} ${what} (95 % interval ${interval(found.low, found.high, 3)})`
      : "not defined",
    ...p.filter(([, value]) => known(value)).map(([name, value]) => `p ${probability(value)} (${name})`),
  ]
    .filter(Boolean)
    .join("\n");
}

// Which metrics say the same: their correlation with each other, whatever people say.
const between = {
  id: "between",
  title: "Correlation of metrics",
  uses: ["target", "scorer"],
  none: () => (results.between_scorers?.names?.length > 1 ? null : "There are no two metrics to compare."),
  lead: () =>
    "Kendall’s τ-b between the scores of two metrics, + where they agree; in the order of the ranking. Metrics that correlate highly say the same thing twice.",
  draw(node) {
    const { names, tau_b: values } = results.between_scorers;
    const order = ranked(state.target)
      .filter(({ name }) => names.includes(name))
      .map((entry) => [entry.name, entry.title]);
    const cell = (one, other) => {
      if (one === other) return null;
      const value = values[names.indexOf(one)][names.indexOf(other)];
      return { text: brief(value), heat: value, tip: `${titleOf(one)} and ${titleOf(other)}: τ-b ${fixed(value, 3)}` };
    };
    add(node, heatmap("Correlation of metrics", order, order, cell));
  },
};
