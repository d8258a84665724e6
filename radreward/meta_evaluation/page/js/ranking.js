// Metrics ranked by their agreement with raters, with intervals, and inter-rater agreement for comparison.

const ranking = {
  id: "ranking",
  title: "Ranking",
  dependsOn: ["target", "scope", "statistic", "scorer"],
  emptyReason: () => (results.agreement.length ? null : "No agreement was computed."),
  takeaway: () => rankingTakeaway(),
  intro: () =>
    `${STATISTICS[state.statistic]} with “${targetTitle(state.target)}”, ${scopeTitle(state.scope)}; positive values mean agreement ` +
    "for metrics of either direction. Bars are 95 % bootstrap intervals over cases" +
    (interRaterRow() ? "; for raters, each against the mean of the others, they are ranges over raters. " : ". ") +
    "Select a metric to see its details below.",
  render(node) {
    const list = el("div");
    const update = () => list.replaceChildren(rankingTable());
    const onInput = (text) => {
      rankingFilter = text;
      update();
    };
    add(node, el("div", { class: "tools" }, search("Find a metric", rankingFilter, onInput)), list);
    update();
  },
  notes: () => [targetNotes(), failureNotes()],
};

let rankingFilter = "";

// The ranking in up to three sentences.
function rankingTakeaway() {
  const rows = rankingRows();
  const best = rows.find((row) => row.best);
  if (!best) return "Agreement is undefined for every metric here.";
  const raters = interRaterRow();
  const tested =
    state.statistic === "tau_b" && state.scope === "pooled"
      ? rows.filter((row) => isDefined(row.comparison?.p_holm))
      : [];
  const notSignificant = tested.filter((row) => row.comparison.p_holm >= ALPHA).map((row) => row.scorer.title);
  return [
    `${best.scorer.title} has the highest agreement, ${SYMBOLS[state.statistic]} ${fixed(best.value)} (${interval(best.low, best.high)}).`,
    raters && `Inter-rater agreement: ${fixed(raters.value)}.`,
    tested.length &&
      (powerNote(state.target)
        ? sentence(powerNote(state.target))
        : notSignificant.length
        ? `Not significantly different from it: ${notSignificant.join(", ")}.`
        : "All other metrics agree significantly less (paired permutation tests, Holm-corrected)."),
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
  const order = rankedScorers(state.target, state.statistic, state.scope);
  const best = order[0];
  const valueOf = (scorer) => lookUp(agreement, scorer.name, state.target, state.scope)?.[state.statistic]?.value;
  return order.map((scorer) => {
    const entry = lookUp(agreement, scorer.name, state.target, state.scope);
    const estimate = entry?.[state.statistic] ?? {};
    const higher = order.filter((candidate) => (valueOf(candidate) ?? -2) > estimate.value);
    return {
      scorer,
      entry,
      ...estimate,
      rank: isDefined(estimate.value) ? higher.length + 1 : null,
      best: scorer === best && isDefined(estimate.value),
      comparison: scorer === best ? null : comparisonOf(state.target, scorer.name, best.name),
    };
  });
}

// Raters against the mean of the others: the mean of their values, and the range.
function interRaterRow() {
  const values = results.inter_rater
    .filter(
      (entry) => entry.kind === "against_mean" && entry.target === state.target && isDefined(entry[state.statistic]),
    )
    .map((entry) => entry[state.statistic]);
  if (!values.length || state.scope !== "pooled") return null;
  return { raters: values.length, value: mean(values), low: Math.min(...values), high: Math.max(...values) };
}

function rankingTable() {
  const raters = interRaterRow();
  const rows = rankingRows();
  const axis = axisOf([...rows, raters ?? {}].flatMap((row) => [row.value, row.low, row.high]).filter(isDefined));
  const tested = state.statistic === "tau_b" && state.scope === "pooled" && rows.some((row) => row.comparison);
  const matching = rows.filter((row) =>
    scorerTitle(row.scorer.name).toLowerCase().includes(rankingFilter.trim().toLowerCase()),
  );
  if (!matching.length) return el("p", { class: "notice" }, "No metric matches this name.");
  for (const row of matching) row.attributes = { class: row.scorer.name === state.scorer ? "focus" : null };
  const columns = [
    {
      title: "Metric",
      value: (row) => scorerTitle(row.scorer.name),
      cell: (row) => (row.scorer ? scorerButton(row) : "Inter-rater agreement"),
    },
    {
      title: "Rank",
      numeric: true,
      class: "extra",
      value: (row) => isDefined(row.rank) && -row.rank,
      cell: (row) => row.rank ?? (row.raters ? "" : NONE),
    },
    {
      title: SYMBOLS[state.statistic],
      numeric: true,
      value: (row) => row.value,
      cell: (row) => [fixed(row.value), roundedNote(row)],
    },
    {
      title: "95 % interval",
      numeric: true,
      class: "extra",
      value: (row) => (isDefined(row.low) ? row.high - row.low : null),
      headTooltip: "Sorts by width",
      cell: (row) => (row.raters ? `${interval(row.low, row.high)} (range)` : interval(row.low, row.high)),
    },
    {
      title: "",
      class: "forest",
      head: axisHead(axis),
      cell: (row) => intervalPlot(row, axis, { referenceLine: raters?.value, raters: row.raters }),
    },
    tested && {
      title: "p, against the best",
      numeric: true,
      class: "extra",
      headTooltip: "Paired permutation test, Holm-corrected",
      value: (row) => row.comparison?.p_holm,
      cell: (row) => (row.raters ? "" : row.best ? "best" : pValue(row.comparison?.p_holm)),
    },
    {
      title: "Pairs",
      numeric: true,
      class: "extra",
      value: (row) => row.entry?.n,
      cell: (row) => (row.raters ? `${row.raters} raters` : count(row.entry?.n)),
    },
  ].filter(Boolean);
  return sortable("ranking", "Metrics by agreement", columns, matching, [2, "descending"], raters ? [raters] : []);
}

// τ-b of a number of errors that is rounded as raters count, beside the τ-b of the number itself.
function roundedNote({ entry }) {
  const value = state.statistic === "tau_b" ? entry?.tau_b_rounded : null;
  return isDefined(value) ? el("small", {}, `rounded: ${fixed(value)}`) : null;
}

function scorerButton(row) {
  const { scorer, entry, comparison } = row;
  const lines = [
    scorerTitle(scorer.name),
    `${SYMBOLS[state.statistic]} ${fixed(row.value, 3)} (95 % interval ${interval(row.low, row.high, 3)})`,
    entry ? `${plural(entry.n, "pair")}, ${plural(entry.n_clusters, "case")}` : "not computed",
    row.best
      ? "highest agreement"
      : comparison &&
        `compared with ${scorerTitle(comparison.scorer_b)}: ${signed(comparison.difference, 3)} τ-b over all pairs, p ${pValue(comparison.p_holm)} (Holm)`,
    entry?.note,
  ];
  return [
    el(
      "button",
      {
        type: "button",
        class: "name",
        "data-key": `rank ${scorer.name}`,
        "aria-pressed": String(scorer.name === state.scorer),
        tooltip: lines.filter(Boolean).join("\n"),
        on: { click: () => setState({ scorer: scorer.name }) },
      },
      scorer.title,
    ),
    entry?.note && !isDefined(row.value) ? el("small", {}, entry.note) : null,
  ];
}

const targetNotes = () =>
  (targets.find((entry) => entry.name === state.target)?.notes ?? []).map((note) => el("p", { class: "notice" }, sentence(note)));

const failureNotes = () =>
  failedScorers.map((entry) =>
    el("p", { class: "notice failed" }, el("b", {}, `${entry.title} failed: `), entry.failure ?? "no reason recorded"),
  );
