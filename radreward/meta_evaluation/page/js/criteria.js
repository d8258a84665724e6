// Agreement per criterion: which kinds of errors a metric detects, and how accurately it counts them.

const CRITERION_PREFIX = "criterion:";
const criterionTargets = targets.filter(({ name }) => name.startsWith(CRITERION_PREFIX));

const perCriterion = {
  id: "criteria",
  title: "Agreement per criterion",
  dependsOn: ["target", "statistic", "scorer"],
  emptyReason: () =>
    !criterionTargets.length
      ? "Raters did not judge single criteria."
      : !results.agreement.length
        ? "No agreement was computed."
        : null,
  intro: () =>
    `${STATISTICS[state.statistic]} with the raters’ count of one kind of error, over all pairs, with 95 % intervals. If a metric has a sub-score for the criterion, this sub-score is compared, otherwise its total. Metrics are in the order of the ranking.`,
  render(node) {
    const order = rankedScorers(state.target, state.statistic);
    const estimate = (scorer, target) => lookUp(agreement, scorer.name, target.name, "pooled")?.[state.statistic] ?? {};
    const axis = axisOf(
      criterionTargets
        .flatMap((target) => order.flatMap((scorer) => [estimate(scorer, target).low, estimate(scorer, target).high]))
        .filter(isDefined),
      0,
      0.1,
      3,
    );
    add(
      node,
      el(
        "div",
        { class: "panels" },
        criterionTargets.map((target) => el("div", {}, criterionBars(target, order, estimate, axis))),
      ),
    );
  },
};

function criterionBars(target, order, estimate, axis) {
  const table = el(
    "table",
    { class: "bars", on: { keydown: moveFocus } },
    el("caption", {}, el("b", {}, target.title)),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "Metric"),
        el("th", { class: "forest" }, axisHead(axis)),
        el("th", { scope: "col", class: "n" }, SYMBOLS[state.statistic]),
      ),
    ),
    el(
      "tbody",
      {},
      order.map((scorer) => {
        const { value, low, high } = estimate(scorer, target);
        const tooltip = `${scorer.title}, ${target.title}: ${fixed(value, 3)} (${interval(low, high, 3)})`;
        return el(
          "tr",
          { class: scorer.name === state.scorer ? "focus" : null, tooltip },
          el("th", { scope: "row" }, scorer.title),
          el("td", { class: "forest" }, intervalPlot({ value, low, high }, axis, { bar: true })),
          el("td", { class: "n", tooltip, tabindex: -1 }, fixed(value)),
        );
      }),
    ),
  );
  makeTabbable(table);
  return table;
}

const errorCounts = {
  id: "counts",
  title: "Error counts",
  dependsOn: ["scorer"],
  emptyReason: () =>
    results.count_agreement.length
      ? null
      : criterionTargets.length
        ? "No metric counts the kinds of errors that the raters counted."
        : "The raters gave no counts of errors.",
  intro: () =>
    "Mean absolute error of the counts per criterion; lower is better. Below, counts of the selected metric against those of the raters: points on the diagonal are correct on average.",
  render(node) {
    const entries = indexBy(results.count_agreement, "scorer", "criterion");
    const rows = scorers
      .filter(({ name }) => results.count_agreement.some((entry) => entry.scorer === name))
      .map((entry) => [entry.name, entry.title]);
    const columns = [...new Set(results.count_agreement.map((entry) => entry.criterion))].map((tag) => [
      tag,
      criterionTitle(tag),
    ]);
    const largest = Math.max(0.01, ...results.count_agreement.map((entry) => entry.mae ?? 0));
    const cell = (scorer, tag) => {
      const entry = lookUp(entries, scorer, tag);
      if (!entry) return null;
      const lines = [
        `${scorerTitle(scorer)}, ${criterionTitle(tag)}`,
        `absolute error ${fixed(entry.mae, 3)} ± ${fixed(entry.std, 3)} (SD)`,
        `exact in ${percent(entry.accuracy)} of ${plural(entry.n, "pair")}`,
      ];
      const heat = isDefined(entry.mae) ? (-0.9 * entry.mae) / largest : 0;
      return { text: fixed(entry.mae), heat, tooltip: lines.join("\n") };
    };
    add(node, heatmap("Mean absolute error of the counts", rows, columns, cell));
    const calibrated = results.count_agreement.filter(
      (entry) => entry.scorer === state.scorer && entry.calibration?.length,
    );
    if (!calibrated.length)
      return add(
        node,
        el(
          "p",
          { class: "muted" },
          `${scorerTitle(state.scorer)} does not count errors. `,
          rows.length
            ? [
                "Metrics that do: ",
                rows.map(([name, title], index) => [index ? ", " : "", scorerLink(name, title)]),
                ".",
              ]
            : null,
        ),
      );
    add(node, el("h3", {}, `Calibration of ${scorerTitle(state.scorer)}`), panels(calibrated.map(calibrationPanel)));
  },
};

const scorerLink = (name, title) =>
  el(
    "button",
    {
      type: "button",
      class: "name link",
      "data-key": `link ${name}`,
      on: { click: () => setState({ scorer: name }) },
    },
    title,
  );
const criterionTitle = (tag) =>
  targets.find(({ name }) => name === `${CRITERION_PREFIX}${tag}`)?.title ?? tag.replaceAll("_", " ");

function calibrationPanel(entry) {
  const points = entry.calibration.map(([predicted, rated, n]) => [
    predicted,
    rated,
    `metric ${fixed(predicted)}\nraters ${fixed(rated)}\n${plural(n, "pair")}`,
  ]);
  const range = [0, Math.max(0.5, ...points.flatMap(([predicted, rated]) => [predicted, rated])) * 1.08];
  return {
    title: criterionTitle(entry.criterion),
    note: `absolute error ${fixed(entry.mae)} ± ${fixed(entry.std)}, exact ${percent(entry.accuracy)}`,
    ratio: 0.8,
    draw: (width, height) =>
      chart(width, height, [{ class: "s0", points, line: true }], {
        xRange: range,
        yRange: range,
        diagonal: true,
        titles: ["count of the metric", "count of the raters"],
        label: `Calibration, ${criterionTitle(entry.criterion)}`,
      }),
  };
}
