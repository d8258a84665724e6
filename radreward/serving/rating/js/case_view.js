// One case: both reports, the types of errors with their definitions, the marked errors, the rating, and a note.

function selectionLine() {
  const { side, text } = selectedSpan();
  return side === null
    ? "Nothing is selected: the error has no place in the text."
    : `Selected in the ${side}: “${text}”`;
}

function criterionButtons(onAdd) {
  return el(
    "div",
    { class: "criteria", role: "group", "aria-label": "Add an error" },
    criteria.map(({ tag, name, description, key }) =>
      el(
        "button",
        { type: "button", class: "choice", "data-key": tag, on: { click: () => onAdd(tag) } },
        key ? el("kbd", {}, key) : null,
        el("span", {}, el("b", {}, name), el("small", {}, description)),
      ),
    ),
  );
}

function errorTable(onToggle, onDelete) {
  if (!current().errors.length) return el("p", { class: "muted" }, "No error is marked.");
  const rows = current().errors.map(({ criterion, significant, side, text }, index) => {
    const { name } = criterionOf.get(criterion);
    const action = (title, label, key, run, pressed) =>
      el(
        "button",
        { type: "button", class: "link", "aria-label": label, "aria-pressed": pressed, "data-key": `${key}${index}`, on: { click: () => run(index) } },
        title,
      );
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      el("td", {}, action(significant ? "matters for care" : "does not matter", `${name}: matters for the patient’s care`, "toggle", onToggle, String(significant))),
      el("td", { class: "quote" }, side ? `${SIDES[side]}: “${text}”` : NONE),
      el("td", {}, action("Delete", `Delete ${name}`, "delete", onDelete)),
    );
  });
  const head = ["Error", "For the patient’s care", "Text", ""].map((title) => el("th", { scope: "col" }, title));
  return scrollBox(
    "Errors",
    el("table", { class: "errors" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
  );
}

function ratingChoices(onRate) {
  const choice = (title, index) => {
    const value = index + 1;
    const isChosen = current().rating === value;
    return el(
      "button",
      { type: "button", class: "choice", "aria-pressed": String(isChosen), "data-key": `rating${value}`, on: { click: () => onRate(value) } },
      el("kbd", {}, String(value)),
      title,
    );
  };
  return el("div", { class: "choices", role: "group", "aria-label": "Rating of the candidate" }, SCALE.map(choice));
}

function noteField(onNote) {
  const input = el("textarea", { rows: 2, "data-key": "note", on: { input: () => onNote(input.value) } });
  input.value = current().note;
  return el("label", { class: "pane" }, el("span", { class: "label" }, "Note (optional)"), input);
}
