// Screens, keys, and files.

const view = el("div", {});
const message = el("p", { class: "bad message", role: "alert" });
const help = el("details", { class: "help" }, el("summary", {}, "How to rate"), helpText());
const raterLine = el("span", { class: "rater" });
const selected = el("p", { class: "selected-text muted", "aria-live": "polite" });
const fileField = el("input", { type: "file", accept: ".json", class: "visually-hidden", tabindex: -1, "aria-label": "Exported file", on: { change: openFile } });

function announce(text) {
  message.textContent = text;
}

function change(edit) {
  announce("");
  changeEntry(edit);
  render();
}

const rate = (value) => change((entry) => (entry.rating = entry.rating === value ? null : value));
const deleteError = (index) => change(({ errors }) => errors.splice(index, 1));
const toggleError = (index) => change(({ errors }) => (errors[index].significant = !errors[index].significant));
const onLastError = (action) => () => current().errors.length && action(current().errors.length - 1);

function addError(criterion) {
  const error = { criterion, significant: true, ...selectedSpan() };
  cursor.isActive = false;
  change(({ errors }) => errors.push(error));
}

function writeNote(note) {
  changeEntry((entry) => (entry.note = note), "note");
  renderList();
}

function step(isUndo) {
  const position = session.position;
  announce(moveStep(isUndo));
  if (session.position !== position) Object.assign(cursor, { side: null, isActive: false });
  rememberSession();
  render();
}

function show(position) {
  if (position < 0 || position >= data.cases.length) return;
  Object.assign(cursor, { side: null, isActive: false });
  session.position = position;
  announce("");
  rememberSession();
  render();
  scrollTo({ top: 0 });
}

function showUnrated() {
  const position = nextUnrated(session.position);
  if (position < 0) announce("All cases are rated. Export the file and send it back.");
  else show(position);
}

const listBox = el("div", {});
function renderList() {
  listBox.replaceChildren(caseList(show));
  for (const chip of listBox.querySelectorAll("[aria-current]")) chip.parentElement.scrollTop = chip.offsetTop - chip.parentElement.offsetTop - chip.offsetHeight;
  renderProgress();
}

onSelection = () => {
  selected.textContent = selectionLine();
  view.classList.toggle("selecting", cursor.isActive);
};

// Render the screen again and restore the keyboard focus.
function render() {
  const { dataset, selectionStart } = document.activeElement ?? {};
  const isRating = session.rater !== null;
  byId("controls").hidden = !isRating;
  view.replaceChildren();
  if (!isRating) return view.append(startView(start, () => fileField.click()));
  raterLine.textContent = session.rater;
  undoButton.disabled = !session.undo.length;
  redoButton.disabled = !session.redo.length;
  add(
    view,
    listBox,
    el("h3", { class: "muted" }, `Case ${session.position + 1}`),
    el("div", { class: "sides" }, Object.keys(SIDES).map(reportPane)),
    el("section", { class: "picker", "aria-label": "Errors" }, el("h2", {}, "Errors of the candidate"), selected, criterionButtons(addError)),
    errorTable(toggleError, deleteError),
    el("h2", {}, "Rating of the candidate"),
    ratingChoices(rate),
    noteField(writeNote),
  );
  renderList();
  paintSelection();
  const focused = dataset?.key && [...view.querySelectorAll("[data-key]")].find((node) => node.dataset.key === dataset.key);
  focused?.focus({ preventScroll: true });
  if (focused?.matches("textarea")) focused.setSelectionRange(selectionStart, selectionStart);
}

function start(rater) {
  announce("");
  help.open = false;
  startSession(rater);
  render();
  scrollTo({ top: 0 });
}

function changeRater() {
  endSession();
  announce("");
  help.open = true;
  render();
  view.querySelector("input").focus();
}

function exportFile() {
  const missing = data.cases.length - numRated(session.entries);
  announce(missing ? `Exported; ${plural(missing, "case is", "cases are")} not rated yet.` : "");
  const url = URL.createObjectURL(new Blob([JSON.stringify(exported(), null, 1)], { type: "application/json" }));
  const name = session.rater.replaceAll(/[^\p{L}\p{N}]+/gu, "-");
  el("a", { href: url, download: `ratings-${name}.json` }).click();
  URL.revokeObjectURL(url);
}

async function openFile() {
  const [file] = fileField.files;
  const text = await file?.text();
  fileField.value = "";
  if (text === undefined) return;
  const opened = parseExport(text);
  if (typeof opened === "string") return announce(opened);
  const stored = readRater(opened.rater)?.entries ?? [];
  const isOther = stored.some(isStarted) && !isEqual(stored, opened.entries);
  const question = `Replace the ${numRated(stored)} ratings of ${opened.rater} in this browser by the ${numRated(opened.entries)} of the file?`;
  if (isOther && !confirm(question)) return;
  if (writeRater(opened.rater, opened.entries)) return start(opened.rater);
  announce("This browser cannot store the ratings of the file, so that it is not opened.");
}

const ACTIONS = {
  n: () => show(session.position + 1),
  p: () => show(session.position - 1),
  u: showUnrated,
  PageDown: () => show(session.position + 1),
  PageUp: () => show(session.position - 1),
  s: onLastError(toggleError),
  Delete: onLastError(deleteError),
  Backspace: onLastError(deleteError),
  Escape: deselect,
  ...Object.fromEntries(SCALE.map((_, index) => [String(index + 1), () => rate(index + 1)])),
  ...Object.fromEntries(criteria.filter(({ key }) => key).map(({ tag, key }) => [key, () => addError(tag)])),
};
const CONTROL_ACTIONS = { s: exportFile, z: () => step(true), y: () => step(false), Z: () => step(false) };

document.addEventListener("keydown", (event) => {
  if (session.rater === null) return;
  const isTyping = event.target.matches("input, textarea, select");
  if ((event.ctrlKey || event.metaKey) && !event.altKey && Object.hasOwn(CONTROL_ACTIONS, event.key)) {
    if (isTyping && event.key !== "s") return; // the field takes back its own text
    event.preventDefault();
    return CONTROL_ACTIONS[event.key]();
  }
  if (isTyping || event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(ACTIONS, event.key)) return;
  event.preventDefault();
  ACTIONS[event.key]();
});

addEventListener("storage", ({ key }) => {
  if (session.rater === null) return view.querySelector("[data-key=rater]").value || render(); // a name being typed stays
  if (key !== storageKey(session.rater)) return;
  const changed = refreshEntries().map((index) => session.order.indexOf(index) + 1);
  if (!changed.length) return;
  announce(`${session.rater} changed ${plural(changed.length, "case")} in another tab: ${changed.sort((a, b) => a - b).slice(0, 5).join(", ")}${changed.length > 5 ? ", …" : ""}.`);
  render();
});

const button = (title, onClick, key, label = null) =>
  el("button", { type: "button", class: "more", "aria-label": label, on: { click: onClick } }, title, key ? el("kbd", {}, key) : null);
const undoButton = button("↶", () => step(true), null, "Undo");
const redoButton = button("↷", () => step(false), null, "Redo");

add(byId("head"), el("h1", {}, data.title), help);
const controls = byId("controls");
controls.addEventListener("submit", (event) => event.preventDefault());
add(
  controls,
  el("div", { class: "status-line" }, el("span", {}, "Rated by ", raterLine), progressBar, progressText),
  el(
    "div",
    { class: "buttons" },
    button("Previous", () => show(session.position - 1), "p"),
    button("Next", () => show(session.position + 1), "n"),
    button("Next unrated", showUnrated, "u"),
    undoButton,
    redoButton,
    button("Export", exportFile, "Ctrl+S"),
  ),
);
byId("main").append(message, view, fileField);
add(
  byId("foot"),
  button("Next unrated", showUnrated, "u"),
  button("Change rater", changeRater),
  button("Open a saved file", () => fileField.click()),
);
const remembered = rememberedSession();
if (remembered) startSession(remembered.rater, remembered.position);
help.open = !remembered;
render();
document.documentElement.dataset.ready = "true";
