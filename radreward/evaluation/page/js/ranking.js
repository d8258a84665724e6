// Which metric agrees most: a coefficient with its interval for each, people among themselves beside them.

const ranking = {
  id: "ranking",
  title: "Ranking",
  uses: ["target", "scope", "statistic", "scorer"],
  none: () => (results.agreement.length ? null : "No agreement was computed."),
  lead: () =>
    `${STATISTICS[state.statistic]} with “${targetTitle(state.target)}”, ${scopeTitle(state.scope)}; + means agreement, ` +
    "whichever direction a metric has. Bars are 95 % intervals, from resampling cases. Choose a metric to look at it closely below.",
  draw(node) {
    const list = el("div");
    node.append(
      el("div", { class: "tools" }, search("Find a metric", rankingFilter, (text) => ((rankingFilter = text), fill()))),
      list,
    );
    const fill = () => list.replaceChildren(rankingTable());
    fill();
    node.append(...notesOfTarget(), ...failures());
  },
};

let rankingFilter = "";

function scopeTitle(scope) {
  if (scope === "pooled") return "over all pairs";
  if (scope === "within") return "within systems, averaged";
  return `pairs of ${scope.replace(/^system:/, "")} only`;
}

function rankingRows() {
  const order = ranked(state.target, state.statistic, state.scope);
  const best = order[0];
  return order.map((scorer) => {
    const entry = at(agreement, scorer.name, state.target, state.scope);
    const figure = entry?.[state.statistic] ?? {};
    const above = order.filter((other) => (at(agreement, other.name, state.target, state.scope)?.[state.statistic]?.value ?? -2) > figure.value);
    const test = scorer === best ? null : difference(state.target, scorer.name, best.name);
    return { scorer, entry, ...figure, rank: known(figure.value) ? above.length + 1 : null, best: scorer === best && known(figure.value), test };
  });
}

// Raters against the mean of the others: their mean, and from the lowest to the highest.
function ratersRow() {
  const values = results.inter_rater
    .filter((entry) => entry.kind === "against_others" && entry.target === state.target && known(entry[state.statistic]))
    .map((entry) => entry[state.statistic]);
  if (!values.length || state.scope !== "pooled") return null;
  return { raters: values.length, value: mean(values), low: Math.min(...values), high: Math.max(...values) };
}

function rankingTable() {
  const people = ratersRow();
  const rows = rankingRows();
  const axis = axisOf([...rows, people ?? {}].flatMap((row) => [row.value, row.low, row.high]).filter(known));
  const tested = state.statistic === "tau_b" && state.scope === "pooled" && rows.some((row) => row.test);
  const found = rows.filter((row) => titleOf(row.scorer.name).toLowerCase().includes(rankingFilter.trim().toLowerCase()));
  if (!found.length) return el("p", { class: "notice" }, "No metric has this in its name.");
  for (const row of found) row.attributes = { class: row.scorer.name === state.scorer ? "focus" : null };
  const columns = [
    { title: "Metric", value: (row) => titleOf(row.scorer.name), cell: (row) => (row.scorer ? focusButton(row) : "Raters, each against the others") },
    { title: "Rank", numeric: true, class: "extra", value: (row) => known(row.rank) && -row.rank, cell: (row) => row.rank ?? (row.raters ? "" : NONE) },
    { title: SIGNS[state.statistic], numeric: true, value: (row) => row.value, cell: (row) => fixed(row.value) },
    { title: "95 % interval", numeric: true, class: "extra", value: (row) => (known(row.low) ? row.high - row.low : null), tip: "Sorts by width", cell: (row) => (row.raters ? `${interval(row.low, row.high)} (range)` : interval(row.low, row.high)) },
    { title: "", class: "forest", head: axisHead(axis), cell: (row) => forest(row, axis, people) },
    { title: "p", numeric: true, class: "extra", tip: "Of no agreement at all", value: (row) => row.p, cell: (row) => (row.raters ? "" : probability(row.p)) },
    tested && { title: "p, against the best", numeric: true, class: "extra", tip: "Paired, Holm-corrected", value: (row) => row.test?.p_holm, cell: (row) => (row.raters ? "" : row.best ? "best" : probability(row.test?.p_holm)) },
    { title: "Pairs", numeric: true, class: "extra", value: (row) => row.entry?.n, cell: (row) => (row.raters ? `${row.raters} raters` : count(row.entry?.n)) },
  ].filter(Boolean);
  return sortable("ranking", "Metrics by agreement", columns, found, [2, "descending"], people ? [people] : []);
}

function focusButton(row) {
  const { scorer, entry } = row;
  const told = [
    titleOf(scorer.name),
    `${SIGNS[state.statistic]} ${fixed(row.value, 3)} (95 % interval ${interval(row.low, row.high, 3)}), p ${probability(row.p)}`,
    entry ? `${plural(entry.n, "pair")}, ${plural(entry.cases, "case")}` : "not computed",
    row.best ? "highest here" : row.test && `against ${titleOf(row.test.other)}: ${signed(row.test.difference, 3)} τ-b over all pairs, p ${probability(row.test.p_holm)} (Holm)`,
    entry?.note,
  ];
  const act = () => choose({ scorer: scorer.name });
  return [
    el("button", { type: "button", class: "name", "data-key": `rank ${scorer.name}`, "aria-pressed": String(scorer.name === state.scorer), tip: told.filter(Boolean).join("\n"), on: { click: act } }, scorer.title),
    entry?.note && !known(row.value) ? el("small", {}, entry.note) : null,
  ];
}

// Ticks at round numbers around the values, 0 among them.
function axisOf(values) {
  const low = Math.min(0, ...values);
  const high = Math.max(0.1, ...values);
  const step = [0.05, 0.1, 0.2, 0.25, 0.5].find((size) => (high - low) / size <= 6) ?? 0.5;
  const [from, to] = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  const ticks = [];
  for (let place = 0; from + place * step <= to + 1e-9; place++) ticks.push(from + place * step);
  return { ticks, place: (value) => `${(100 * (value - from)) / (to - from)}%` };
}

const axisHead = (axis) =>
  svg(
    "svg",
    { class: "axis", "aria-hidden": "true" },
    axis.ticks.map((tick) => svg("text", { x: axis.place(tick), y: 12 }, minus(String(Number(tick.toFixed(2)))))),
  );

function forest(row, axis, people) {
  const told = known(row.value) ? `${fixed(row.value)}, ${interval(row.low, row.high)}` : "not defined";
  const lines = axis.ticks.map((tick) => svg("line", { class: Math.abs(tick) < 1e-9 ? "zero" : "grid", x1: axis.place(tick), x2: axis.place(tick), y1: 0, y2: "100%" }));
  const level = people && svg("line", { class: "people", x1: axis.place(people.value), x2: axis.place(people.value), y1: 0, y2: "100%" });
  const marks = known(row.value)
    ? [
        known(row.low) && svg("line", { class: "range", x1: axis.place(row.low), x2: axis.place(row.high), y1: "50%", y2: "50%" }),
        svg("circle", { class: "value", cx: axis.place(row.value), cy: "50%", r: 4.5 }),
      ]
    : [];
  return svg("svg", { class: `interval${row.raters ? " of-people" : ""}`, role: "img", "aria-label": told }, lines, level, marks);
}

const notesOfTarget = () =>
  (targets.find((entry) => entry.name === state.target)?.notes ?? []).map((note) => el("p", { class: "notice" }, note));

const failures = () =>
  failed.map((entry) => el("p", { class: "notice failed" }, el("b", {}, `${entry.title} failed: `), entry.reason ?? "no reason was given"));
