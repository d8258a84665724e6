// One case: both reports, the rating, the types of errors, and the errors that were marked.

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

function criterionButtons(onAdd) {
  return el(
    "div",
    { class: "choices", role: "group", "aria-label": "Add an error" },
    criteria.map(({ tag, name, description, key }) =>
      el(
        "button",
        { type: "button", class: "choice", title: description, "data-key": tag, on: { click: () => onAdd(tag) } },
        key ? el("kbd", {}, key) : null,
        name,
      ),
    ),
  );
}

function errorTable(onToggle, onDelete) {
  if (!current().errors.length) return el("p", { class: "muted" }, "No errors marked.");
  const rows = current().errors.map(({ criterion, significant, side, text }, index) => {
    const action = (title, name, run, pressed) =>
      el(
        "button",
        { type: "button", class: "link", "aria-pressed": pressed, "data-key": `${name}${index}`, on: { click: () => run(index) } },
        title,
      );
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, criterionOf.get(criterion).name),
      el("td", {}, action(significant ? "significant" : "insignificant", "toggle", onToggle, String(significant))),
      el("td", { class: "quote" }, side ? `${side}: “${text}”` : NONE),
      el("td", {}, action("Delete", "delete", onDelete)),
    );
  });
  const head = ["Error", "Significance", "Text", ""].map((title) => el("th", { scope: "col" }, title));
  return scrollBox(
    "Errors",
    el("table", { class: "errors" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
  );
}

function noteField(onNote) {
  const input = el("textarea", { rows: 2, "data-key": "note", on: { input: () => onNote(input.value) } });
  input.value = current().note;
  return el("label", { class: "pane" }, el("span", { class: "label" }, "Note (optional)"), input);
}
