// Criterion by criterion: what kinds of errors a metric notices, and how well it counts them.

const criterionTargets = targets.filter(({ name }) => name.startsWith("criterion:"));

const perCriterion = {
  id: "criteria",
  title: "By criterion",
  uses: ["target", "statistic", "scorer"],
  none: () =>
    !criterionTargets.length
      ? "People did not judge single criteria."
      : !results.agreement.length
        ? "No agreement was computed."
        : null,
  lead: () =>
    `${STATISTICS[state.statistic]} of each metric’s total score with people’s count of one kind of error, over all pairs; 95 % intervals. Metrics in the order of the ranking.`,
  draw(node) {
    const order = ranked(state.target, state.statistic);
    const figure = (scorer, target) => at(agreement, scorer.name, target.name, "pooled")?.[state.statistic] ?? {};
    const axis = axisOf(
      criterionTargets
        .flatMap((target) => order.flatMap((scorer) => [figure(scorer, target).low, figure(scorer, target).high]))
        .filter(known),
      0,
      0.1,
      3,
    );
    add(
      node,
      el(
        "div",
        { class: "panels" },
        criterionTargets.map((target) => el("div", {}, criterionBars(target, order, figure, axis))),
      ),
    );
  },
};

function criterionBars(target, order, figure, axis) {
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
        el("th", { scope: "col", class: "n" }, SIGNS[state.statistic]),
      ),
    ),
    el(
      "tbody",
      {},
      order.map((scorer) => {
        const found = figure(scorer, target);
        const told = `${scorer.title}, ${target.title}: ${fixed(found.value, 3)} (${interval(found.low, found.high, 3)}), p ${probability(found.p)}`;
        return el(
          "tr",
          { class: scorer.name === state.scorer ? "focus" : null, tip: told },
          el("th", { scope: "row" }, scorer.title),
          el("td", { class: "forest" }, intervalPlot(found, axis, { bar: true })),
          el("td", { class: "n", tip: told, tabindex: -1 }, fixed(found.value)),
        );
      }),
    ),
  );
  enter(table);
  return table;
}

const counted = {
  id: "counts",
  title: "Counts of errors",
  uses: ["scorer"],
  none: () => (results.counts.length ? null : "No metric counts errors."),
  lead: () =>
    "Mean absolute error of the counts, criterion by criterion; fewer is better. Below, counts of the metric in focus beside those of people: on the line they are right on average.",
  draw(node) {
    const entries = keyed(results.counts, "scorer", "criterion");
    const rows = scorers
      .filter(({ name }) => results.counts.some((entry) => entry.scorer === name))
      .map((entry) => [entry.name, entry.title]);
    const columns = [...new Set(results.counts.map((entry) => entry.criterion))].map((tag) => [
      tag,
      criterionTitle(tag),
    ]);
    const most = Math.max(0.01, ...results.counts.map((entry) => entry.mae ?? 0));
    const cell = (scorer, tag) => {
      const found = at(entries, scorer, tag);
      if (!found) return null;
      const told = `${titleOf(scorer)}, ${criterionTitle(tag)}\nerror ${fixed(found.mae, 3)} ± ${fixed(found.sd, 3)} (SD)\nexactly right ${percent(found.accuracy)} of ${plural(found.n, "pair")}`;
      return { text: fixed(found.mae), heat: known(found.mae) ? (-0.9 * found.mae) / most : 0, tip: told };
    };
    add(node, heatmap("Error of counts", rows, columns, cell));
    const own = results.counts.filter((entry) => entry.scorer === state.scorer && entry.calibration?.length);
    if (!own.length)
      return add(
        node,
        el(
          "p",
          { class: "muted" },
          `${titleOf(state.scorer)} does not count errors. `,
          rows.length
            ? ["Those that do: ", rows.map(([name, title], place) => [place ? ", " : "", focusLink(name, title)]), "."]
            : null,
        ),
      );
    add(node, el("h3", {}, `Calibration of ${titleOf(state.scorer)}`), panels(own.map(calibrationPanel)));
  },
};

const focusLink = (name, title) =>
  el(
    "button",
    { type: "button", class: "name link", "data-key": `link ${name}`, on: { click: () => choose({ scorer: name }) } },
    title,
  );
const criterionTitle = (tag) =>
  targets.find(({ name }) => name === `criterion:${tag}`)?.title ?? tag.replaceAll("_", " ");

function calibrationPanel(entry) {
  const points = entry.calibration.map(([own, people, n]) => [
    own,
    people,
    `counted ${fixed(own)}\nby people ${fixed(people)}\n${plural(n, "pair")}`,
  ]);
  const range = [0, Math.max(0.5, ...points.flatMap(([own, people]) => [own, people])) * 1.08];
  return {
    title: criterionTitle(entry.criterion),
    note: `error ${fixed(entry.mae)} ± ${fixed(entry.sd)}, exact ${percent(entry.accuracy)}`,
    ratio: 0.8,
    draw: (width, height) =>
      chart(width, height, [{ class: "s0", points, line: true }], {
        xs: range,
        ys: range,
        diagonal: true,
        titles: ["counted by the metric", "by people"],
        label: `Calibration, ${criterionTitle(entry.criterion)}`,
      }),
  };
}
