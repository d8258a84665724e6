// Keys, saving, and the export.

const view = el("div", {});
const progress = el("p", { class: "muted progress", role: "status" });
const message = el("p", { class: "bad", role: "alert" });
const nameField = el("input", { autocomplete: "off", "data-key": "rater", on: { input: () => update({ rater: nameField.value }) } });
const fileField = el("input", { type: "file", accept: ".json", class: "visually-hidden", on: { change: openFile } });

function update(change) {
  Object.assign(state, change);
  save();
  renderProgress();
}

function change(edit) {
  edit(current());
  save();
  render();
}

const rate = (value) => change((entry) => (entry.rating = entry.rating === value ? null : value));
const deleteError = (index) => change(({ errors }) => errors.splice(index, 1));
const toggleError = (index) => change(({ errors }) => (errors[index].significant = !errors[index].significant));

function addError(criterion) {
  const error = { criterion, significant: true, ...selectedSpan() };
  deselect();
  change(({ errors }) => errors.push(error));
}

function show(index) {
  if (index < 0 || index >= data.cases.length) return;
  Object.assign(cursor, { side: null, isActive: false });
  update({ index });
  render();
  scrollTo({ top: 0 });
}

function renderProgress() {
  const saved = state.saved ? "Saved in this browser." : "This browser cannot save: export before you close it.";
  progress.textContent = `Case ${state.index + 1} of ${data.cases.length} · ${numRated()} rated · ${saved}`;
  progress.classList.toggle("bad", !state.saved);
}

// Render the case again and restore the keyboard focus.
function render() {
  const key = document.activeElement?.dataset?.key;
  view.replaceChildren();
  add(
    view,
    el("h3", { class: "muted" }, `Case ${data.cases[state.index].id}`),
    el("div", { class: "sides" }, ["reference", "candidate"].map((side) => reportPane(side, render))),
    el("h2", {}, "Errors of the candidate"),
    criterionButtons(addError),
    errorTable(toggleError, deleteError),
    el("h2", {}, "Rating of the candidate"),
    ratingChoices(rate),
    noteField((note) => update({ ratings: state.ratings.map((entry, index) => (index === state.index ? { ...entry, note } : entry)) })),
  );
  if (key) [...view.querySelectorAll("[data-key]")].find((node) => node.dataset.key === key)?.focus({ preventScroll: true });
  renderProgress();
}

function exportFile() {
  if (!state.rater.trim()) {
    message.textContent = "Enter your name first: the file is named after you.";
    return nameField.focus();
  }
  message.textContent = numRated() < data.cases.length ? `${data.cases.length - numRated()} cases are not rated yet.` : "";
  const url = URL.createObjectURL(new Blob([JSON.stringify(exported(), null, 1)], { type: "application/json" }));
  const name = state.rater.trim().replaceAll(/[^\p{L}\p{N}]+/gu, "-");
  el("a", { href: url, download: `ratings-${name}.json` }).click();
  URL.revokeObjectURL(url);
}

async function openFile() {
  const [file] = fileField.files;
  fileField.value = "";
  if (!file) return;
  const isStarted = state.ratings.some(({ rating, errors, note }) => rating !== null || errors.length || note);
  if (isStarted && !confirm("Replace the ratings in this browser by those of the file?")) return;
  message.textContent = imported(await file.text()) ?? "";
  nameField.value = state.rater;
  save();
  render();
}

const ACTIONS = {
  n: () => show(state.index + 1),
  p: () => show(state.index - 1),
  PageDown: () => show(state.index + 1),
  PageUp: () => show(state.index - 1),
  s: () => current().errors.length && toggleError(current().errors.length - 1),
  Delete: () => current().errors.length && deleteError(current().errors.length - 1),
  Backspace: () => current().errors.length && deleteError(current().errors.length - 1),
  Escape: () => {
    deselect();
    render();
  },
  ...Object.fromEntries(SCALE.map((_, index) => [String(index + 1), () => rate(index + 1)])),
  ...Object.fromEntries(criteria.filter(({ key }) => key).map(({ tag, key }) => [key, () => addError(tag)])),
};

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    return exportFile();
  }
  const isTyping = event.target.matches("input, textarea, select");
  if (isTyping || event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(ACTIONS, event.key)) return;
  event.preventDefault();
  ACTIONS[event.key]();
});

const button = (title, onClick, key) =>
  el("button", { type: "button", class: "more", on: { click: onClick } }, title, key ? el("kbd", {}, key) : null);

restore();
nameField.value = state.rater;
add(
  byId("head"),
  el("h1", {}, data.title),
  el(
    "details",
    { class: "help", open: state.ratings.every(({ rating }) => rating === null) },
    el("summary", {}, "How to rate"),
    el(
      "ul",
      {},
      el("li", {}, "Read both reports. The reference is right; judge the candidate."),
      el("li", {}, "Select the words of an error: by mouse, or by Tab to a report, arrow keys, and Shift with arrow keys."),
      el("li", {}, "Press the letter of the type of error, and ", el("kbd", {}, "s"), " if it does not matter for the patient’s care."),
      el("li", {}, el("kbd", {}, "Delete"), " removes the last error. Something missing may be marked in the reference, or nowhere."),
      el("li", {}, "Rate the candidate from ", el("kbd", {}, "1"), " to ", el("kbd", {}, "5"), "; ", el("kbd", {}, "n"), " and ", el("kbd", {}, "p"), " go to the next and to the previous case."),
      el("li", {}, "The browser saves after every change. At the end, export the file and send it back. Nothing leaves this computer before."),
    ),
  ),
);
const controls = byId("controls");
controls.addEventListener("submit", (event) => event.preventDefault());
add(
  controls,
  el("label", { class: "field" }, el("span", {}, "Your name"), nameField),
  button("Previous", () => show(state.index - 1), "p"),
  button("Next", () => show(state.index + 1), "n"),
  button("Export", exportFile, "Ctrl+S"),
  button("Open a saved file", () => fileField.click()),
  fileField,
  progress,
  message,
);
byId("main").append(view);
render();
document.documentElement.dataset.ready = "true";
