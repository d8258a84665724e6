// Score against people's judgement, pair by pair: all systems in one, and each by itself.

const COLOURS = 7;

const scatter = {
  id: "scatter",
  title: "Pair by pair",
  uses: ["target", "scorer"],
  none: () => (!data.points.ids.length ? "There are no pairs." : !scorers.length ? "There are no scores." : null),
  lead() {
    const { ids, total } = data.points;
    const shown = total > ids.length ? `${count(ids.length)} of ${plural(total, "pair")} shown, drawn at random. ` : "";
    return `${shown}${titleOf(state.scorer)} against “${targetTitle(state.target)}”. A metric can tell good systems from bad ones by their style alone; within one system it cannot.`;
  },
  draw(node) {
    const { systems } = data.points;
    const points = scatterPoints();
    if (!points.length) return add(node, el("p", { class: "muted" }, "No pair has both a score and this judgement."));
    const xs = extent(points.map(([x]) => x));
    const ys = extent(points.map(([, y]) => y));
    const colour = (number) => (known(number) && number < COLOURS ? `s${number}` : "s-rest");
    const of = (number) => points.filter((point) => point[3] === number);
    const series = [null, ...systems.keys()]
      .map((number) => ({ class: colour(number), points: of(number) }))
      .filter(({ points: own }) => own.length);
    const panel = (title, scope, own) => ({
      title,
      note: tauOf(scope),
      draw: (width, height) =>
        chart(width, height, own, {
          xs,
          ys,
          titles: axisTitles(width),
          label: `${titleOf(state.scorer)} against ${targetTitle(state.target)}, ${title}`,
        }),
    });
    const legend =
      systems.length > 1 &&
      el(
        "p",
        { class: "legend" },
        systems.slice(0, COLOURS).map((name, number) => el("span", { class: `key s${number}` }, name)),
        systems.length > COLOURS ? el("span", { class: "key s-rest" }, "other systems") : null,
      );
    const each = systems.map((name, number) =>
      panel(name, `system:${name}`, [{ class: colour(number), points: of(number) }]),
    );
    add(
      node,
      legend,
      el("div", { class: "first" }, panels([{ ...panel("All systems", "pooled", series), ratio: 0.55 }])),
      systems.length > 1 ? panels(each, "four") : null,
    );
  },
};

function scatterPoints() {
  const { ids, systems, system, scores, targets: judged } = data.points;
  const [x, y] = [scores[scorerNumber.get(state.scorer)], judged[targetNumber.get(state.target)]];
  return ids
    .map((id, place) => [
      x[place],
      y[place],
      `${id}${known(system[place]) ? `, ${systems[system[place]]}` : ""}\n${titleOf(state.scorer)}: ${plain(x[place])}\n${targetTitle(state.target)}: ${plain(y[place])}`,
      system[place],
    ])
    .filter(([one, other]) => known(one) && known(other));
}

const direction = (entry) => (entry.higher_is_better ? "higher is better" : "lower is better");

// Which way is better is said where there is room for it.
const axisTitles = (width) => {
  const told = (title, entry) => (width > 400 ? `${title} (${direction(entry)})` : title);
  return [
    told(titleOf(state.scorer), scorers[scorerNumber.get(state.scorer)]),
    told(targetTitle(state.target), targets[targetNumber.get(state.target)]),
  ];
};

function tauOf(scope) {
  const entry = at(agreement, state.scorer, state.target, scope);
  const figure = entry?.tau_b;
  return known(figure?.value)
    ? `τ-b ${fixed(figure.value)} (${interval(figure.low, figure.high)}), ${plural(entry.n, "pair")}`
    : entry?.note;
}
