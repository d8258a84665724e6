// The rater of this tab, the shown case, and the steps to undo. The browser's storage is shared with other tabs: every
// change starts from what is stored, so that no tab overwrites the change of another one.

const SESSION_KEY = `radreward-session-${data.digest}`;
const session = { rater: null, entries: [], order: [], position: 0, isSaved: true, undo: [], redo: [] };

const currentIndex = () => session.order[session.position];
const current = () => session.entries[currentIndex()];

function startSession(rater, position = null) {
  const stored = readRater(rater);
  const entries = stored?.entries ?? data.cases.map(emptyEntry);
  Object.assign(session, { rater: stored?.rater ?? cleanName(rater), entries, order: caseOrder(rater), undo: [], redo: [] });
  session.position = position ?? Math.max(nextUnrated(-1), 0);
  session.isSaved = writeRater(session.rater, entries);
  rememberSession();
}

function endSession() {
  session.rater = null;
  rememberSession();
}

// Keep rater and case over a reload of this tab; other tabs have their own.
function rememberSession() {
  try {
    const { rater, position } = session;
    if (rater === null) sessionStorage.removeItem(SESSION_KEY);
    else sessionStorage.setItem(SESSION_KEY, JSON.stringify({ rater, position }));
  } catch {
    session.isSaved = false;
  }
}

// {rater, position} of this tab before a reload, or null.
function rememberedSession() {
  try {
    const { rater, position } = JSON.parse(sessionStorage.getItem(SESSION_KEY));
    return typeof rater === "string" && Number.isInteger(position) && position in data.cases ? { rater, position } : null;
  } catch {
    return null;
  }
}

// Take over what other tabs stored for this rater; returns the indices of the cases that changed.
function refreshEntries() {
  const stored = readRater(session.rater);
  if (!stored) return [];
  const changed = [...stored.entries.keys()].filter((index) => !isEqual(stored.entries[index], session.entries[index]));
  session.entries = stored.entries;
  return changed;
}

function storeEntry(index, entry) {
  session.entries = session.entries.with(index, entry);
  session.isSaved = writeRater(session.rater, session.entries);
}

// Edit a copy of the entry of the shown case. Edits of one kind that follow each other are one step.
function changeEntry(edit, kind = null) {
  refreshEntries();
  const index = currentIndex();
  const before = session.entries[index];
  const after = structuredClone(before);
  edit(after);
  const last = session.undo.at(-1);
  if (kind && last?.kind === kind && last.index === index && isEqual(last.after, before)) last.after = after;
  else session.undo.push({ index, before, after, kind });
  session.redo = [];
  storeEntry(index, after);
}

// Take back the last step, or repeat it; returns a message if another tab has changed its case.
function moveStep(isUndo) {
  const [from, to] = isUndo ? [session.undo, session.redo] : [session.redo, session.undo];
  const step = from.pop();
  if (!step) return isUndo ? "Nothing to undo." : "Nothing to redo.";
  refreshEntries();
  session.position = session.order.indexOf(step.index);
  const [expected, target] = isUndo ? [step.after, step.before] : [step.before, step.after];
  if (!isEqual(session.entries[step.index], expected))
    return `Case ${session.position + 1} was changed in another tab. This step is left as it is.`;
  to.push(step);
  storeEntry(step.index, target);
  return "";
}

// Position of the next unrated case after a position, from the start again after the last; -1 if all are rated.
function nextUnrated(position) {
  const { order, entries } = session;
  const positions = order.map((_, offset) => (position + 1 + offset) % order.length);
  return positions.find((candidate) => !isRated(entries[order[candidate]])) ?? -1;
}

const exported = () => ({
  format: data.format,
  digest: data.digest,
  rater: session.rater,
  criteria: criteria.map(({ tag }) => tag),
  cases: data.cases.map((texts, index) => ({ ...texts, ...session.entries[index] })),
});

// {rater, entries} of an exported file, or the reason why it cannot be opened.
function parseExport(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    return "Expected a file that this page exported.";
  }
  if (file?.format !== data.format) return "Expected a file that this page exported.";
  if (file.digest !== data.digest) return "Expected a file that this page exported, of the same cases.";
  const entries = parseEntries(file.cases);
  const isNamed = typeof file.rater === "string" && cleanName(file.rater) !== "";
  return entries && isNamed ? { rater: cleanName(file.rater), entries } : "Expected a file as this page exported it, but it was changed.";
}
