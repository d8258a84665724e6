// The list of cases with their states, and the progress of the rater.

const STATES = { open: "not rated", started: "started, not rated", rated: "rated" };
const stateOf = (entry) => (isRated(entry) ? "rated" : isStarted(entry) ? "started" : "open");

function caseList(onShow) {
  const chips = session.order.map((index, position) => {
    const state = stateOf(session.entries[index]);
    return el(
      "button",
      {
        type: "button",
        class: `case ${state}`,
        "aria-current": position === session.position ? "true" : null,
        "aria-label": `Case ${position + 1}: ${STATES[state]}`,
        title: STATES[state],
        "data-key": `case${position}`,
        on: { click: () => onShow(position) },
      },
      String(position + 1),
    );
  });
  const present = Object.keys(STATES).filter((state) => session.entries.some((entry) => stateOf(entry) === state));
  return el(
    "nav",
    { "aria-label": "Cases" },
    el("div", { class: "case-list" }, chips),
    el(
      "p",
      { class: "legend muted" },
      present.map((state) => el("span", {}, el("i", { class: `case ${state}`, "aria-hidden": "true" }), STATES[state])),
    ),
  );
}

const progressBar = el("progress", { "aria-label": "Rated cases", max: data.cases.length });
const progressText = el("p", { class: "muted progress", role: "status" });

function renderProgress() {
  const rated = numRated(session.entries);
  const saved = session.isSaved ? "saved in this browser" : "This browser cannot save: export before you close it.";
  progressBar.value = rated;
  progressText.textContent = `Case ${session.position + 1} of ${data.cases.length} · ${rated} rated · ${saved}`;
  progressText.classList.toggle("bad", !session.isSaved);
}
