// The pairs that a metric and people place most differently, with both reports and what the metric had to say.

const PAGE = 8;
const shownPairs = { direction: "all", system: "all", order: "gap", text: "", many: PAGE };

const disagreements = {
  id: "disagreements",
  title: "Worst disagreements",
  uses: ["target", "scorer"],
  none: () => (data.disagreements.pairs.length ? null : "There is no pair on which a metric and people differ."),
  lead: () =>
    `Where ${titleOf(state.scorer)} and “${targetTitle(state.target)}” place a pair most differently among all pairs, from the worst (0) to the best (100). Words that only one of the two reports has are marked.`,
  draw(node) {
    const list = el("div", { class: "cards" });
    const told = el("p", { class: "muted", role: "status" });
    const set = (change) => (Object.assign(shownPairs, { many: PAGE }, change), fill());
    const systems = results.data.systems.map((name) => [name, name]);
    const fill = () => fillPairs(list, told, fill);
    add(
      node,
      el(
        "div",
        { class: "tools" },
        select(
          "Show",
          [
            ["all", "Too kind and too harsh"],
            ["kind", "Too kind"],
            ["harsh", "Too harsh"],
          ],
          shownPairs.direction,
          (direction) => set({ direction }),
        ),
        systems.length > 1 &&
          select("System", [["all", "All systems"], ...systems], shownPairs.system, (system) => set({ system })),
        select(
          "Order",
          [
            ["gap", "Largest difference"],
            ["people", "Best for people"],
            ["id", "Id"],
          ],
          shownPairs.order,
          (order) => set({ order }),
        ),
        search("Find words or an id", shownPairs.text, (text) => set({ text })),
      ),
      told,
      list,
    );
    shownPairs.many = PAGE;
    fill();
  },
};

function worstPairs() {
  const found = data.disagreements.worst[scorerNumber.get(state.scorer)][targetNumber.get(state.target)];
  return found.map(([number, own, people]) => ({
    pair: data.disagreements.pairs[number],
    own,
    people,
    gap: own - people,
  }));
}

function fillPairs(list, told, again) {
  const every = worstPairs();
  const compared = data.disagreements.compared[scorerNumber.get(state.scorer)][targetNumber.get(state.target)];
  const text = shownPairs.text.trim().toLowerCase();
  const chosen = every
    .filter(({ gap }) => shownPairs.direction === "all" || gap > 0 === (shownPairs.direction === "kind"))
    .filter(({ pair }) => shownPairs.system === "all" || pair.system === shownPairs.system)
    .filter(({ pair }) => [pair.id, pair.reference, pair.candidate].some((part) => part.toLowerCase().includes(text)));
  if (shownPairs.order === "people") chosen.sort((a, b) => b.people - a.people);
  if (shownPairs.order === "id") chosen.sort((a, b) => compare(a.pair.id, b.pair.id, 1));
  const visible = chosen.slice(0, shownPairs.many);
  told.textContent = every.length
    ? `${count(visible.length)} shown of ${plural(chosen.length, "pair")} that fit, among the ${count(every.length)} largest differences of ${plural(compared, "pair")}.`
    : `Of ${plural(compared, "pair")} none is held in this page for this metric and target; all are in rows.jsonl.`;
  list.replaceChildren(...visible.map(pairCard));
  if (chosen.length > visible.length) {
    const act = () => {
      shownPairs.many += PAGE;
      again();
      list.children[visible.length]?.focus();
    };
    list.append(
      el(
        "button",
        { type: "button", class: "more", on: { click: act } },
        `Show ${Math.min(PAGE, chosen.length - visible.length)} more`,
      ),
    );
  }
}

function pairCard({ pair, own, people, gap }) {
  const points = Math.round(100 * Math.abs(gap));
  const marked = differingWords(pair.reference, pair.candidate);
  const score = pair.scores[scorerNumber.get(state.scorer)];
  const rating = pair.targets[targetNumber.get(state.target)];
  return el(
    "article",
    { class: "card", tabindex: -1 },
    el(
      "header",
      {},
      el("h3", {}, pair.id),
      pair.system ? el("span", { class: "muted" }, pair.system) : null,
      el("span", { class: `chip ${gap > 0 ? "kind" : "harsh"}` }, `${gap > 0 ? "too kind" : "too harsh"} by ${points}`),
    ),
    placeStrip(pair, own, people, score, rating),
    el(
      "div",
      { class: "sides" },
      reportSide("Reference", pair.reference, marked?.[0], "del"),
      reportSide("Candidate", pair.candidate, marked?.[1], "ins"),
    ),
    marked ? null : el("p", { class: "muted" }, "Too long to mark the words that differ."),
    peoplesCounts(pair),
    el("div", { class: "sides below" }, partsTable(pair), evidenceOf(pair)),
  );
}

const reportSide = (title, text, parts, mark) =>
  el(
    "div",
    {},
    el("h4", {}, title),
    text.trim()
      ? el(
          "p",
          { class: "report" },
          parts ? parts.map(([part, differs]) => (differs ? el(mark, {}, part) : part)) : text,
        )
      : el("p", { class: "muted" }, "Empty."),
  );

// Where people, this metric and every other place the pair.
function placeStrip(pair, own, people, score, rating) {
  const x = (place) => `${2 + 96 * place}%`;
  const others = scorers
    .map((scorer, number) => [scorer.title, pair.by_scorer[number], scorer.name])
    .filter(([, place, name]) => known(place) && name !== state.scorer);
  const told = [
    `Places from 0 (worst) to 100 (best)`,
    `People: ${Math.round(100 * people)}`,
    `${titleOf(state.scorer)}: ${Math.round(100 * own)}`,
  ]
    .concat(others.sort((a, b) => b[1] - a[1]).map(([title, place]) => `${title}: ${Math.round(100 * place)}`))
    .join("\n");
  return el(
    "div",
    { class: "strip" },
    svg(
      "svg",
      { role: "img", "aria-label": told, tabindex: 0, tip: told },
      svg("line", { class: "track", x1: x(0), x2: x(1), y1: 14, y2: 14 }),
      others.map(([, place]) => svg("line", { class: "other", x1: x(place), x2: x(place), y1: 8, y2: 20 })),
      svg("line", { class: "gap", x1: x(people), x2: x(own), y1: 14, y2: 14 }),
      svg(
        "svg",
        { x: x(people), y: 14, overflow: "visible" },
        svg("path", { class: "by-people", d: "M0-7 7 0 0 7-7 0Z" }),
      ),
      svg("circle", { class: "by-scorer", cx: x(own), cy: 14, r: 6 }),
    ),
    el(
      "p",
      { class: "legend" },
      el("span", { class: "key by-people" }, `People: ${plain(rating)}, place ${Math.round(100 * people)}`),
      el(
        "span",
        { class: "key by-scorer" },
        `${titleOf(state.scorer)}: ${plain(score)}, place ${Math.round(100 * own)}`,
      ),
      others.length ? el("span", { class: "key other" }, `${plural(others.length, "other metric")}`) : null,
    ),
  );
}
