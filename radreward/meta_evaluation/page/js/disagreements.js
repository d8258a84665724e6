// Pairs with the largest rank difference between a metric and the raters, with both reports and the evidence.

const CARDS_PER_PAGE = 8;
const cardFilter = { direction: "all", system: "all", order: "gap", text: "", numVisible: CARDS_PER_PAGE };

const disagreements = {
  id: "disagreements",
  title: "Largest disagreements",
  dependsOn: ["target", "scorer"],
  emptyReason: () => (data.disagreements.pairs.length ? null : "The metrics and the raters differ on no pair."),
  intro: () =>
    `Pairs with the largest difference between their rank by ${scorerTitle(state.scorer)} and their rank by “${targetTitle(state.target)}”. Ranks are percentiles, from 0 % (worst pair) to 100 % (best pair). Words that occur in only one of the two reports are marked.`,
  render(node) {
    const list = el("div", { class: "cards" });
    const status = el("p", { class: "muted", role: "status" });
    const update = () => renderCards(list, status, update);
    const setFilter = (change) => {
      Object.assign(cardFilter, { numVisible: CARDS_PER_PAGE }, change);
      update();
    };
    const directions = [
      ["all", "Overrated and underrated"],
      ["overrated", "Overrated"],
      ["underrated", "Underrated"],
    ];
    const orders = [
      ["gap", "Largest difference"],
      ["raters", "Highest rated"],
      ["id", "Id"],
    ];
    const systemNames = [["all", "All systems"], ...results.data.systems.map((name) => [name, name])];
    add(
      node,
      el(
        "div",
        { class: "tools" },
        select("Show", directions, cardFilter.direction, (direction) => setFilter({ direction })),
        systemNames.length > 2 && select("System", systemNames, cardFilter.system, (system) => setFilter({ system })),
        select("Order", orders, cardFilter.order, (order) => setFilter({ order })),
        search("Find words or an id", cardFilter.text, (text) => setFilter({ text })),
      ),
      status,
      list,
    );
    cardFilter.numVisible = CARDS_PER_PAGE;
    update();
  },
};

function topPairs() {
  const top = data.disagreements.top[scorerIndex.get(state.scorer)][targetIndex.get(state.target)];
  return top.map(([index, scorerRank, raterRank]) => ({
    pair: data.disagreements.pairs[index],
    scorerRank,
    raterRank,
    gap: scorerRank - raterRank,
  }));
}

function matchesFilter({ pair, gap }) {
  const text = cardFilter.text.trim().toLowerCase();
  return (
    (cardFilter.direction === "all" || gap > 0 === (cardFilter.direction === "overrated")) &&
    (cardFilter.system === "all" || pair.system === cardFilter.system) &&
    [pair.id, pair.reference, pair.candidate].some((part) => part.toLowerCase().includes(text))
  );
}

function renderCards(list, status, update) {
  const top = topPairs();
  const compared = plural(
    data.disagreements.num_compared[scorerIndex.get(state.scorer)][targetIndex.get(state.target)],
    "pair",
  );
  const matching = top.filter(matchesFilter);
  if (cardFilter.order === "raters") matching.sort((a, b) => b.raterRank - a.raterRank);
  if (cardFilter.order === "id") matching.sort((a, b) => compareValues(a.pair.id, b.pair.id, 1));
  const visible = matching.slice(0, cardFilter.numVisible);
  status.textContent = top.length
    ? `${count(visible.length)} of ${plural(matching.length, "matching pair")}, among the ${count(top.length)} largest differences of ${compared}.`
    : `This page holds none of ${compared} for this metric and target; all are in rows.jsonl.`;
  list.replaceChildren(...visible.map(pairCard));
  const remaining = matching.length - visible.length;
  if (remaining > 0) {
    const showMore = () => {
      cardFilter.numVisible += CARDS_PER_PAGE;
      update();
      list.children[visible.length]?.focus();
    };
    const text = `Show ${Math.min(CARDS_PER_PAGE, remaining)} more`;
    list.append(el("button", { type: "button", class: "more", on: { click: showMore } }, text));
  }
}

function pairCard({ pair, scorerRank, raterRank, gap }) {
  const points = Math.round(100 * Math.abs(gap));
  const direction = gap > 0 ? "overrated" : "underrated";
  const segments = diffWords(pair.reference, pair.candidate);
  return el(
    "article",
    { class: "card", tabindex: -1 },
    el(
      "header",
      {},
      el("h3", {}, pair.id),
      pair.system ? el("span", { class: "muted" }, pair.system) : null,
      el("span", { class: `chip ${direction}` }, `${direction} by ${points} %`),
    ),
    rankStrip(pair, scorerRank, raterRank),
    el(
      "div",
      { class: "sides" },
      reportText("Reference", pair.reference, segments?.[0], "del"),
      reportText("Candidate", pair.candidate, segments?.[1], "ins"),
    ),
    segments ? null : el("p", { class: "muted" }, "Too long to mark the words that differ."),
    raterCountsLine(pair),
    el("div", { class: "sides below" }, criteriaTable(pair), evidenceDetails(pair)),
  );
}

const reportText = (title, text, segments, mark) =>
  el(
    "div",
    {},
    el("h4", {}, title),
    text.trim()
      ? el(
          "p",
          { class: "report" },
          segments ? segments.map(([part, differs]) => (differs ? el(mark, {}, part) : part)) : text,
        )
      : el("p", { class: "muted" }, "Empty."),
  );

// Ranks of the pair by the raters, the selected metric and all other metrics.
function rankStrip(pair, scorerRank, raterRank) {
  const x = (rank) => `${2 + 96 * rank}%`;
  const percentile = (rank) => `${Math.round(100 * rank)} %`;
  const score = significantDigits(pair.scores[scorerIndex.get(state.scorer)]);
  const rating = significantDigits(pair.targets[targetIndex.get(state.target)]);
  const others = scorers
    .map((scorer, index) => [scorer.title, pair.scorer_ranks[index], scorer.name])
    .filter(([, rank, name]) => isDefined(rank) && name !== state.scorer);
  const text = [
    "Ranks from 0 % (worst) to 100 % (best)",
    `Raters: ${percentile(raterRank)}`,
    `${scorerTitle(state.scorer)}: ${percentile(scorerRank)}`,
    ...others.sort((a, b) => b[1] - a[1]).map(([title, rank]) => `${title}: ${percentile(rank)}`),
  ].join("\n");
  return el(
    "div",
    { class: "strip" },
    svg(
      "svg",
      { role: "img", "aria-label": text, tabindex: 0, tooltip: text },
      svg("line", { class: "track", x1: x(0), x2: x(1), y1: 14, y2: 14 }),
      others.map(([, rank]) => svg("line", { class: "other", x1: x(rank), x2: x(rank), y1: 8, y2: 20 })),
      svg("line", { class: "gap", x1: x(raterRank), x2: x(scorerRank), y1: 14, y2: 14 }),
      svg(
        "svg",
        { x: x(raterRank), y: 14, overflow: "visible" },
        svg("path", { class: "by-raters", d: "M0-7 7 0 0 7-7 0Z" }),
      ),
      svg("circle", { class: "by-scorer", cx: x(scorerRank), cy: 14, r: 6 }),
    ),
    el(
      "p",
      { class: "legend" },
      el("span", { class: "key by-raters" }, `Raters: ${rating}, rank ${percentile(raterRank)}`),
      el("span", { class: "key by-scorer" }, `${scorerTitle(state.scorer)}: ${score}, rank ${percentile(scorerRank)}`),
      others.length ? el("span", { class: "key other" }, plural(others.length, "other metric")) : null,
    ),
  );
}
