// The selected target, scorer, scope and statistic; the sections that depend on them; and the first rendering.

const state = {
  target: targets[0]?.name,
  scope: "pooled",
  statistic: "tau_b",
  scorer: targets.length ? rankedScorers(targets[0].name)[0]?.name : scorers[0]?.name,
};

const SECTIONS = [
  ranking,
  significance,
  correlation,
  interRater,
  scatter,
  perCriterion,
  errorCounts,
  systems,
  preferences,
  probes,
  disagreements,
  metrics,
  dataset,
];
const sectionNodes = new Map();
const MAX_OPEN_NOTES = 3;

function setState(change) {
  Object.assign(state, change);
  renderControls();
  for (const section of SECTIONS) if (section.dependsOn.some((key) => key in change)) renderSection(section);
}

// Render a section again and restore the keyboard focus inside it.
function renderSection(section) {
  const key = document.activeElement?.dataset?.key;
  const node = sectionNodes.get(section);
  node.replaceChildren(el("h2", {}, section.title));
  const reason = section.emptyReason();
  node.hidden = Boolean(reason) && !section.notes?.()?.length; // the reason is in "Data and settings"
  if (reason) return add(node, el("p", { class: "muted" }, reason), section.notes?.());
  if (section.takeaway) node.append(el("p", { class: "takeaway" }, section.takeaway()));
  node.append(el("p", { class: "lead" }, section.intro()));
  section.render(node);
  if (section.notes) add(node, section.notes());
  if (key)
    [...node.querySelectorAll("[data-key]")].find((entry) => entry.dataset.key === key)?.focus({ preventScroll: true });
}

function scopeOptions() {
  const scopes = new Set(results.agreement.map((entry) => entry.scope));
  return [...scopes].map((scope) => [
    scope,
    scope === "pooled" ? "All pairs" : scope === "within" ? "Within systems" : scope.replace(/^system:/, "Only "),
  ]);
}

function renderControls() {
  const box = byId("controls");
  const focused = document.activeElement?.closest?.("#controls label")?.dataset.field;
  const field = (name, label, options) => {
    if (options.length < 2) return null;
    const node = select(label, options, state[name], (value) => setState({ [name]: value }));
    node.dataset.field = name;
    return node;
  };
  const titles = (entries) => entries.map((entry) => [entry.name, entry.title]);
  box.replaceChildren();
  add(
    box,
    field("target", "Target", titles(targets)),
    field("scorer", "Selected metric", titles(scorers)),
    field("scope", "Pairs", scopeOptions()),
    targets.length ? field("statistic", "Statistic", Object.entries(STATISTICS)) : null,
  );
  box.hidden = !box.children.length;
  if (focused) box.querySelector(`[data-field="${focused}"] select`).focus();
}

function renderHeader() {
  const { pairs, clusters, systems: systemNames, raters, notes } = results.data;
  const facts = [
    [pairs, "pair"],
    [clusters, "case"],
    [systemNames.length, "system"],
    [raters.length, "rater"],
    [new Set(scorers.map((entry) => entry.scorer ?? entry.name)).size, "metric"],
  ];
  const noteNodes = notes.map((note) => el("p", { class: "notice" }, sentence(note)));
  add(
    byId("head"),
    el("p", { class: "kicker" }, "Agreement of radiology report metrics with radiologists"),
    el("h1", {}, results.title),
    el(
      "p",
      { class: "facts" },
      facts
        .filter(([number]) => number)
        .map(([number, noun]) => plural(number, noun))
        .join(" · "),
    ),
    results.synthetic &&
      el(
        "p",
        { class: "notice synthetic" },
        el("b", {}, "Synthetic data. "),
        "A program generated the reports or the errors in them, and counted the errors; no radiologist rated these pairs. Results on real reports may differ.",
      ),
    el(
      "p",
      { class: "notice" },
      el("b", {}, "For research only. "),
      "Do not base decisions about patients on these scores.",
    ),
    noteNodes.length > MAX_OPEN_NOTES
      ? el(
          "details",
          {},
          el("summary", {}, plural(noteNodes.length, "note on the data", "notes on the data")),
          noteNodes,
        )
      : noteNodes,
  );
}

function renderNavigation() {
  const links = SECTIONS.filter((section) => !section.emptyReason()).map((section) =>
    el("li", {}, el("a", { href: `#${section.id}` }, section.title)),
  );
  byId("head").append(el("nav", { "aria-label": "Sections" }, el("ul", {}, links)));
}

byId("controls").addEventListener("submit", (event) => event.preventDefault());
renderHeader();
renderNavigation();
renderControls();
for (const section of SECTIONS) {
  const node = el("section", { id: section.id });
  sectionNodes.set(section, node);
  byId("main").append(node);
  renderSection(section);
}
document.documentElement.dataset.ready = "true";
performance.mark("ready");
