// What is chosen, the sections that follow it, and the start.

const state = {
  target: targets[0]?.name,
  scope: "pooled",
  statistic: "tau_b",
  scorer: targets.length ? ranked(targets[0].name)[0]?.name : scorers[0]?.name,
};

const SECTIONS = [ranking, significance, between, people, scatter, perCriterion, counted, systems, preferences, probes, disagreements, metrics, dataset];
const drawn = new Map();

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
  if (none) return node.append(el("p", { class: "muted" }, none));
  node.append(el("p", { class: "lead" }, section.lead()));
  section.draw(node);
  if (key) [...node.querySelectorAll("[data-key]")].find((entry) => entry.dataset.key === key)?.focus({ preventScroll: true });
}

function scopes() {
  const found = new Set(results.agreement.map((entry) => entry.scope));
  return [...found].map((scope) => [scope, scope === "pooled" ? "All pairs" : scope === "within" ? "Within systems" : scope.replace(/^system:/, "Only ")]);
}

function drawControls() {
  const box = byId("controls");
  if (!scorers.length || !targets.length) return void (box.hidden = true);
  const key = document.activeElement?.closest?.("#controls label")?.dataset.field;
  const field = (name, label, options) => {
    const made = select(label, options, state[name], (value) => choose({ [name]: value }));
    made.dataset.field = name;
    return made;
  };
  box.replaceChildren(
    field("target", "People’s judgement", targets.map((entry) => [entry.name, entry.title])),
    field("scorer", "Metric in focus", scorers.map((entry) => [entry.name, entry.title])),
    field("scope", "Pairs", scopes()),
    field("statistic", "Statistic", Object.entries(STATISTICS)),
  );
  if (key) box.querySelector(`[data-field="${key}"] select`).focus();
}

function drawHead() {
  const { pairs, cases, systems, raters, notes } = results.data;
  add(
    byId("head"),
    el("p", { class: "kicker" }, "How well metrics of radiology reports agree with people"),
    el("h1", {}, results.title),
    el("p", { class: "facts" }, [plural(pairs, "pair"), plural(cases, "case"), plural(systems.length, "system"), plural(raters.length, "rater"), plural(scorers.length, "metric")].join(" · ")),
    results.synthetic && el("p", { class: "notice synthetic" }, el("b", {}, "Synthetic data. "), "These reports were generated, not written about patients; what holds here need not hold for real ones."),
    el("p", { class: "notice" }, el("b", {}, "Scores are for research. "), "They are no basis for decisions about patients."),
    notes.map((note) => el("p", { class: "notice" }, note)),
  );
}

function drawNavigation() {
  const links = SECTIONS.map((section) => el("li", {}, el("a", { href: `#${section.id}` }, section.title)));
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
