// Words of a report: selected by arrow keys, mouse or touch, and marked where errors are.

// After an error is marked, nothing is selected; the arrow keys continue from this position.
const cursor = { side: null, anchor: 0, focus: 0, isActive: false };
const drag = { side: null, word: 0, isTouch: false, isMoved: false };
let onSelection = () => {};

// Words with their offsets in characters, not UTF-16 units.
function reportWords(text) {
  let offset = 0;
  return (text.match(/\s+|\S+/gu) ?? []).map((part) => {
    const start = offset;
    offset += Array.from(part).length;
    return { part, start, end: offset, isWord: part.trim() !== "" };
  });
}

const textOf = (side) => data.cases[currentIndex()][side];
const wordsOf = (side) => reportWords(textOf(side)).filter(({ isWord }) => isWord);
const selectedRange = () => [Math.min(cursor.anchor, cursor.focus), Math.max(cursor.anchor, cursor.focus)];

// The selected words as a span, or one without a place.
function selectedSpan() {
  const { side, isActive } = cursor;
  if (!isActive) return { side: null, start: null, end: null, text: "" };
  const [first, last] = selectedRange();
  const words = wordsOf(side);
  const { start, end } = { start: words[first].start, end: words[last].end };
  return { side, start, end, text: Array.from(textOf(side)).slice(start, end).join("") };
}

function selectWords(side, anchor, focus) {
  Object.assign(cursor, { side, anchor, focus, isActive: true });
  paintSelection();
}

function deselect() {
  cursor.isActive = false;
  paintSelection();
}

// The page is not drawn again while a finger or the mouse is on it: the touched words stay in the document.
function paintSelection() {
  const [first, last] = selectedRange();
  for (const part of document.querySelectorAll(".words > span")) {
    const position = Number(part.dataset.position);
    const isInside = cursor.isActive && part.parentElement.dataset.key === cursor.side && position >= first && position <= last;
    part.classList.toggle("selected", isInside);
  }
  onSelection();
}

function moveCursor(side, step, extend) {
  const isNew = cursor.side !== side;
  const focus = Math.min(Math.max(isNew ? 0 : cursor.focus + step, 0), wordsOf(side).length - 1);
  selectWords(side, extend && !isNew && cursor.isActive ? cursor.anchor : focus, focus);
}

const wordAt = (node, side) => {
  const word = node?.closest?.(".word");
  return word?.parentElement.dataset.key === side ? Number(word.dataset.position) : null;
};

// A tap selects a word, a tap on another word extends the selection to it, and a tap on the only selected word ends it.
function tapWord(side, word) {
  const isSingle = cursor.isActive && cursor.side === side && cursor.anchor === cursor.focus;
  if (isSingle && cursor.anchor === word) deselect();
  else selectWords(side, isSingle ? cursor.anchor : word, word);
}

function startDrag(event, side) {
  const word = wordAt(event.target, side);
  if (word === null || event.button !== 0 || !event.isPrimary) return;
  const isTouch = event.pointerType === "touch";
  const extend = event.shiftKey && cursor.isActive && cursor.side === side;
  Object.assign(drag, { side, word: extend ? cursor.anchor : word, isTouch, isMoved: false });
  if (!isTouch) selectWords(side, drag.word, word);
}

addEventListener("pointermove", (event) => {
  if (drag.side === null || !event.isPrimary) return;
  const word = wordAt(document.elementFromPoint(event.clientX, event.clientY), drag.side);
  if (word === null || (word === drag.word && !drag.isMoved)) return;
  drag.isMoved = true;
  if (!cursor.isActive || cursor.side !== drag.side || cursor.anchor !== drag.word || cursor.focus !== word) selectWords(drag.side, drag.word, word);
});
addEventListener("pointerup", (event) => {
  if (drag.side !== null && event.isPrimary && drag.isTouch && !drag.isMoved) tapWord(drag.side, drag.word);
  drag.side = null;
});
addEventListener("pointercancel", () => (drag.side = null)); // the finger scrolls the page

function reportPane(side) {
  const errors = current().errors.filter((error) => error.side === side);
  let index = -1;
  const words = reportWords(textOf(side)).map(({ part, start, end, isWord }) => {
    const marks = errors.filter((error) => error.start < end && start < error.end);
    const kind = marks.length && (marks.some(({ significant }) => significant) ? "significant" : "insignificant");
    const title = marks.map(({ criterion }) => criterionOf.get(criterion).name).join(", ") || null;
    const position = isWord ? (index += 1) : index + 0.5; // a space stands between two words
    return el("span", { class: [isWord && "word", kind].filter(Boolean).join(" ") || null, title, "data-position": position }, part);
  });
  const keydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    moveCursor(side, step, event.shiftKey);
  };
  const label = `${SIDES[side]}: arrow keys move by word, with Shift they select`;
  return el(
    "div",
    {},
    el("h2", {}, SIDES[side]),
    el(
      "p",
      {
        class: "report words",
        tabindex: 0,
        role: "group",
        "aria-label": label,
        "data-key": side,
        on: { keydown, pointerdown: (event) => startDrag(event, side) },
      },
      words,
    ),
  );
}
