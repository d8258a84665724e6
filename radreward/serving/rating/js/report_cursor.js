// Words of a report, selected by arrow keys or by the mouse, and marked where errors are.

// After an error is marked, nothing is selected; the arrow keys continue from this position.
const cursor = { side: null, anchor: 0, focus: 0, isActive: false };

// Words with their offsets in characters, not UTF-16 units.
function reportWords(text) {
  let offset = 0;
  return (text.match(/\s+|\S+/gu) ?? []).map((part) => {
    const start = offset;
    offset += Array.from(part).length;
    return { part, start, end: offset, isWord: part.trim() !== "" };
  });
}

const wordsOf = (side) => reportWords(data.cases[state.index][side]).filter(({ isWord }) => isWord);

// The selected words as a span, or one without a place.
function selectedSpan() {
  const { side, anchor, focus, isActive } = cursor;
  if (!isActive) return { side: null, start: null, end: null, text: "" };
  const words = wordsOf(side).slice(Math.min(anchor, focus), Math.max(anchor, focus) + 1);
  const { start, end } = { start: words[0].start, end: words.at(-1).end };
  return { side, start, end, text: Array.from(data.cases[state.index][side]).slice(start, end).join("") };
}

const deselect = () => Object.assign(cursor, { isActive: false });

function moveCursor(side, step, extend) {
  const isNew = cursor.side !== side;
  const focus = Math.min(Math.max(isNew ? 0 : cursor.focus + step, 0), wordsOf(side).length - 1);
  const anchor = extend && !isNew && cursor.isActive ? cursor.anchor : focus;
  Object.assign(cursor, { side, focus, anchor, isActive: true });
}

function reportPane(side, onChange) {
  const text = data.cases[state.index][side];
  const errors = current().errors.filter((error) => error.side === side);
  let index = -1;
  const words = reportWords(text).map(({ part, start, end, isWord }) => {
    if (!isWord) return part;
    const word = (index += 1);
    const isSelected =
      cursor.isActive && cursor.side === side && word >= Math.min(cursor.anchor, cursor.focus) && word <= Math.max(cursor.anchor, cursor.focus);
    const marks = errors.filter((error) => error.start < end && start < error.end);
    const classes = [isSelected && "selected", marks.length && (marks.some(({ significant }) => significant) ? "significant" : "insignificant")];
    const select = (event, extend) => {
      event.preventDefault();
      const anchor = extend && cursor.isActive && cursor.side === side ? cursor.anchor : word;
      Object.assign(cursor, { side, focus: word, anchor, isActive: true });
      onChange();
    };
    return el(
      "span",
      {
        class: classes.filter(Boolean).join(" ") || null,
        title: marks.map(({ criterion }) => criterionOf.get(criterion).name).join(", ") || null,
        on: {
          mousedown: (event) => select(event, event.shiftKey),
          mouseover: (event) => event.buttons === 1 && select(event, true),
        },
      },
      part,
    );
  });
  const keydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    moveCursor(side, step, event.shiftKey);
    onChange();
  };
  const label = `${side === "reference" ? "Reference" : "Candidate"}: arrow keys move by word, with Shift they select`;
  return el(
    "div",
    {},
    el("h2", {}, side === "reference" ? "Reference" : "Candidate"),
    el("p", { class: "report words", tabindex: 0, role: "group", "aria-label": label, "data-key": side, on: { keydown } }, words),
  );
}
