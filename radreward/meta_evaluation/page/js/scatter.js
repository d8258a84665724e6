// Scores against ratings: all systems in one chart, and one chart per system.

const NUM_COLOURS = 7;

const scatter = {
  id: "scatter",
  title: "Pair by pair",
  dependsOn: ["target", "scorer"],
  emptyReason: () =>
    !data.points.ids.length ? "There are no pairs." : !scorers.length ? "There are no scores." : null,
  intro() {
    const { ids, total } = data.points;
    const sample = total > ids.length ? `A random sample of ${count(ids.length)} of ${plural(total, "pair")}. ` : "";
    return `${sample}${scorerTitle(state.scorer)} against “${targetTitle(state.target)}”. By style alone, a metric can separate good systems from bad ones, but not candidates of one system.`;
  },
  render(node) {
    const { systems } = data.points;
    const points = scatterPoints();
    if (!points.length) return add(node, el("p", { class: "muted" }, "No pair has both a score and a rating."));
    const xRange = paddedRange(points.map(([x]) => x));
    const yRange = paddedRange(points.map(([, y]) => y));
    const colour = (index) => (isDefined(index) && index < NUM_COLOURS ? `s${index}` : "s-rest");
    const pointsOf = (index) => points.filter((point) => point[3] === index);
    const series = [null, ...systems.keys()]
      .map((index) => ({ class: colour(index), points: pointsOf(index) }))
      .filter((entry) => entry.points.length);
    const panel = (title, scope, panelSeries) => ({
      title,
      note: tauText(scope),
      draw: (width, height) =>
        chart(width, height, panelSeries, {
          xRange,
          yRange,
          titles: axisTitles(width),
          label: `${scorerTitle(state.scorer)} against ${targetTitle(state.target)}, ${title}`,
        }),
    });
    const legend =
      systems.length > 1 &&
      el(
        "p",
        { class: "legend" },
        systems.slice(0, NUM_COLOURS).map((name, index) => el("span", { class: `key s${index}` }, name)),
        systems.length > NUM_COLOURS ? el("span", { class: "key s-rest" }, "other systems") : null,
      );
    const systemPanels = systems.map((name, index) =>
      panel(name, `system:${name}`, [{ class: colour(index), points: pointsOf(index) }]),
    );
    add(
      node,
      legend,
      el("div", { class: "first" }, panels([{ ...panel("All systems", "pooled", series), ratio: 0.55 }])),
      systems.length > 1 ? panels(systemPanels, "four") : null,
    );
  },
};

// [score, rating, tooltip, index of the system] per pair with both values.
function scatterPoints() {
  const { ids, systems, system_index: systemIndex, scores, targets: ratings } = data.points;
  const [x, y] = [scores[scorerIndex.get(state.scorer)], ratings[targetIndex.get(state.target)]];
  return ids
    .map((id, index) => {
      const system = systemIndex[index];
      const lines = [
        `${id}${isDefined(system) ? `, ${systems[system]}` : ""}`,
        `${scorerTitle(state.scorer)}: ${significantDigits(x[index])}`,
        `${targetTitle(state.target)}: ${significantDigits(y[index])}`,
      ];
      return [x[index], y[index], lines.join("\n"), system];
    })
    .filter(([score, rating]) => isDefined(score) && isDefined(rating));
}

const directionText = (entry) => (entry.higher_is_better ? "higher is better" : "lower is better");

// Axis titles name the direction if there is space.
const axisTitles = (width) => {
  const withDirection = (title, entry) => (width > 400 ? `${title} (${directionText(entry)})` : title);
  return [
    withDirection(scorerTitle(state.scorer), scorers[scorerIndex.get(state.scorer)]),
    withDirection(targetTitle(state.target), targets[targetIndex.get(state.target)]),
  ];
};

function tauText(scope) {
  const entry = lookUp(agreement, state.scorer, state.target, scope);
  const tau = entry?.tau_b;
  return isDefined(tau?.value)
    ? `τ-b ${fixed(tau.value)} (${interval(tau.low, tau.high)}), ${plural(entry.n, "pair")}`
    : entry?.note;
}
