// Which metric agrees most: a coefficient with its interval for each, people among themselves beside them.

const ranking = {
  id: "ranking",
  title: "Ranking",
  uses: ["target", "scope", "statistic", "scorer"],
  none: () => (results.agreement.length ? null : "No agreement was computed."),
  take: () => takeaway(),
  lead: () =>
    `${STATISTICS[state.statistic]} with “${targetTitle(state.target)}”, ${scopeTitle(state.scope)}; + means agreement, ` +
    "whichever direction a metric has. Bars are 95 % intervals, from resampling cases" +
    (ratersRow() ? "; of raters, each against the mean of the others, they are ranges. " : ". ") +
    "Choose a metric to look at it closely below.",
  draw(node) {
    const list = el("div");
    add(
      node,
      el(
        "div",
        { class: "tools" },
        search("Find a metric", rankingFilter, (text) => ((rankingFilter = text), fill())),
      ),
      list,
    );
    const fill = () => list.replaceChildren(rankingTable());
    fill();
  },
  rest: () => [notesOfTarget(), failures()],
};

let rankingFilter = "";

// The table in one sentence or three.
function takeaway() {
  const rows = rankingRows();
  const best = rows.find((row) => row.best);
  if (!best) return "Of no metric is agreement defined here.";
  const among = ratersRow();
  const tested =
    state.statistic === "tau_b" && state.scope === "pooled" ? rows.filter((row) => known(row.test?.p_holm)) : [];
  const alike = tested.filter((row) => row.test.p_holm >= ALPHA).map((row) => row.scorer.title);
  return [
    `${best.scorer.title} agrees most, ${SIGNS[state.statistic]} ${fixed(best.value)} (${interval(best.low, best.high)}).`,
    among && `Raters among themselves: ${fixed(among.value)}.`,
    tested.length &&
      (alike.length
        ? `Not told apart from it: ${alike.join(", ")}.`
        : "All others agree less (paired tests, Holm-corrected)."),
  ]
    .filter(Boolean)
    .join(" ");
}

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
    const above = order.filter(
      (other) => (at(agreement, other.name, state.target, state.scope)?.[state.statistic]?.value ?? -2) > figure.value,
    );
    const test = scorer === best ? null : difference(state.target, scorer.name, best.name);
    return {
      scorer,
      entry,
      ...figure,
      rank: known(figure.value) ? above.length + 1 : null,
      best: scorer === best && known(figure.value),
      test,
    };
  });
}

// Raters against the mean of the others: their mean, and from the lowest to the highest.
function ratersRow() {
  const values = results.inter_rater
    .filter(
      (entry) => entry.kind === "against_others" && entry.target === state.target && known(entry[state.statistic]),
    )
    .map((entry) => entry[state.statistic]);
  if (!values.length || state.scope !== "pooled") return null;
  return { raters: values.length, value: mean(values), low: Math.min(...values), high: Math.max(...values) };
}

function rankingTable() {
  const people = ratersRow();
  const rows = rankingRows();
  const axis = axisOf([...rows, people ?? {}].flatMap((row) => [row.value, row.low, row.high]).filter(known));
  const tested = state.statistic === "tau_b" && state.scope === "pooled" && rows.some((row) => row.test);
  const found = rows.filter((row) =>
    titleOf(row.scorer.name).toLowerCase().includes(rankingFilter.trim().toLowerCase()),
  );
  if (!found.length) return el("p", { class: "notice" }, "No metric has this in its name.");
  for (const row of found) row.attributes = { class: row.scorer.name === state.scorer ? "focus" : null };
  const columns = [
    {
      title: "Metric",
      value: (row) => titleOf(row.scorer.name),
      cell: (row) => (row.scorer ? focusButton(row) : "Raters among themselves"),
    },
    {
      title: "Rank",
      numeric: true,
      class: "extra",
      value: (row) => known(row.rank) && -row.rank,
      cell: (row) => row.rank ?? (row.raters ? "" : NONE),
    },
    { title: SIGNS[state.statistic], numeric: true, value: (row) => row.value, cell: (row) => fixed(row.value) },
    {
      title: "95 % interval",
      numeric: true,
      class: "extra",
      value: (row) => (known(row.low) ? row.high - row.low : null),
      tip: "Sorts by width",
      cell: (row) => (row.raters ? `${interval(row.low, row.high)} (range)` : interval(row.low, row.high)),
    },
    {
      title: "",
      class: "forest",
      head: axisHead(axis),
      cell: (row) => intervalPlot(row, axis, { level: people?.value, people: row.raters }),
    },
    {
      title: "p",
      numeric: true,
      class: "extra",
      tip: "Of no agreement at all",
      value: (row) => row.p,
      cell: (row) => (row.raters ? "" : probability(row.p)),
    },
    tested && {
      title: "p, against the best",
      numeric: true,
      class: "extra",
      tip: "Paired, Holm-corrected",
      value: (row) => row.test?.p_holm,
      cell: (row) => (row.raters ? "" : row.best ? "best" : probability(row.test?.p_holm)),
    },
    {
      title: "Pairs",
      numeric: true,
      class: "extra",
      value: (row) => row.entry?.n,
      cell: (row) => (row.raters ? `${row.raters} raters` : count(row.entry?.n)),
    },
  ].filter(Boolean);
  return sortable("ranking", "Metrics by agreement", columns, found, [2, "descending"], people ? [people] : []);
}

function focusButton(row) {
  const { scorer, entry } = row;
  const told = [
    titleOf(scorer.name),
    `${SIGNS[state.statistic]} ${fixed(row.value, 3)} (95 % interval ${interval(row.low, row.high, 3)}), p ${probability(row.p)}`,
    entry ? `${plural(entry.n, "pair")}, ${plural(entry.cases, "case")}` : "not computed",
    row.best
      ? "highest here"
      : row.test &&
        `against ${titleOf(row.test.other)}: ${signed(row.test.difference, 3)} τ-b over all pairs, p ${probability(row.test.p_holm)} (Holm)`,
    entry?.note,
  ];
  const act = () => choose({ scorer: scorer.name });
  return [
    el(
      "button",
      {
        type: "button",
        class: "name",
        "data-key": `rank ${scorer.name}`,
        "aria-pressed": String(scorer.name === state.scorer),
        tip: told.filter(Boolean).join("\n"),
        on: { click: act },
      },
      scorer.title,
    ),
    entry?.note && !known(row.value) ? el("small", {}, entry.note) : null,
  ];
}

const notesOfTarget = () =>
  (targets.find((entry) => entry.name === state.target)?.notes ?? []).map((note) => el("p", { class: "notice" }, note));

const failures = () =>
  failed.map((entry) =>
    el("p", { class: "notice failed" }, el("b", {}, `${entry.title} failed: `), entry.reason ?? "no reason was given"),
  );
