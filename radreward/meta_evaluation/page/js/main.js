// What is chosen, the sections that follow it, and the start.

const state = {
  target: targets[0]?.name,
  scope: "pooled",
  statistic: "tau_b",
  scorer: targets.length ? ranked(targets[0].name)[0]?.name : scorers[0]?.name,
};

const SECTIONS = [
  ranking,
  significance,
  between,
  people,
  scatter,
  perCriterion,
  counted,
  systems,
  preferences,
  probes,
  disagreements,
  metrics,
  dataset,
];
const drawn = new Map();
const FEW = 3;

function choose(change) {
  Object.assign(state, change);
  drawControls();
  for (const section of SECTIONS) if (section.uses.some((key) => key in change)) draw(section);
}

// Draws a section anew; what had the focus has it again.
function draw(section) {
  const key = document.activeElement?.dataset?.key;
  const node = drawn.get(section);
  node.replaceChildren(el("h2", {}, section.title));
  const none = section.none();
  if (none) return add(node, el("p", { class: "muted" }, none), section.rest?.());
  if (section.take) node.append(el("p", { class: "take" }, section.take()));
  node.append(el("p", { class: "lead" }, section.lead()));
  section.draw(node);
  if (section.rest) add(node, section.rest());
  if (key)
    [...node.querySelectorAll("[data-key]")].find((entry) => entry.dataset.key === key)?.focus({ preventScroll: true });
}

function scopes() {
  const found = new Set(results.agreement.map((entry) => entry.scope));
  return [...found].map((scope) => [
    scope,
    scope === "pooled" ? "All pairs" : scope === "within" ? "Within systems" : scope.replace(/^system:/, "Only "),
  ]);
}

function drawControls() {
  const box = byId("controls");
  const key = document.activeElement?.closest?.("#controls label")?.dataset.field;
  const field = (name, label, options) => {
    if (options.length < 2) return null;
    const made = select(label, options, state[name], (value) => choose({ [name]: value }));
    made.dataset.field = name;
    return made;
  };
  box.replaceChildren();
  add(
    box,
    field(
      "target",
      "People’s judgement",
      targets.map((entry) => [entry.name, entry.title]),
    ),
    field(
      "scorer",
      "Metric in focus",
      scorers.map((entry) => [entry.name, entry.title]),
    ),
    field("scope", "Pairs", scopes()),
    targets.length ? field("statistic", "Statistic", Object.entries(STATISTICS)) : null,
  );
  box.hidden = !box.children.length;
  if (key) box.querySelector(`[data-field="${key}"] select`).focus();
}

function drawHead() {
  const { pairs, cases, systems, raters, notes } = results.data;
  const facts = [
    [pairs, "pair"],
    [cases, "case"],
    [systems.length, "system"],
    [raters.length, "rater"],
    [scorers.length, "metric"],
  ];
  const told = notes.map((note) => el("p", { class: "notice" }, note));
  add(
    byId("head"),
    el("p", { class: "kicker" }, "How well metrics of radiology reports agree with people"),
    el("h1", {}, results.title),
    el(
      "p",
      { class: "facts" },
      facts
        .filter(([number]) => number)
        .map(([number, one]) => plural(number, one))
        .join(" · "),
    ),
    results.synthetic &&
      el(
        "p",
        { class: "notice synthetic" },
        el("b", {}, "Synthetic data. "),
        "Reports, or the errors in them, were made by a program, and so were the judgements that this page calls people’s. What holds here need not hold for real reports and readers.",
      ),
    el(
      "p",
      { class: "notice" },
      el("b", {}, "Scores are for research. "),
      "They are no basis for decisions about patients.",
    ),
    told.length > FEW
      ? el("details", {}, el("summary", {}, plural(told.length, "note on the data", "notes on the data")), told)
      : told,
  );
}

function drawNavigation() {
  const links = SECTIONS.filter((section) => !section.none()).map((section) =>
    el("li", {}, el("a", { href: `#${section.id}` }, section.title)),
  );
  byId("head").append(el("nav", { "aria-label": "Sections" }, el("ul", {}, links)));
}

byId("controls").addEventListener("submit", (event) => event.preventDefault());
drawHead();
drawNavigation();
drawControls();
for (const section of SECTIONS) {
  const node = el("section", { id: section.id });
  drawn.set(section, node);
  byId("main").append(node);
  draw(section);
}
document.documentElement.dataset.ready = "true";
performance.mark("ready");
