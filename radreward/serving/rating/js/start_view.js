// The first screen: the name of the rater, or one who started in this browser.

function startView(onStart, onOpen) {
  const name = el("input", { autocomplete: "off", required: true, maxlength: 100, "data-key": "rater" });
  const form = el(
    "form",
    { class: "start", on: { submit } },
    el("label", { class: "field" }, el("span", {}, "Your name"), name),
    el("button", { class: "more primary" }, "Start"),
  );
  function submit(event) {
    event.preventDefault();
    if (cleanName(name.value)) onStart(name.value);
    else announce("Enter your name: your ratings are stored and exported under it.");
  }
  const known = storedRaters().map(({ rater, entries }) =>
    el(
      "button",
      { type: "button", class: "more", on: { click: () => onStart(rater) } },
      el("b", {}, rater),
      ` ${numRated(entries)} of ${entries.length} rated`,
    ),
  );
  return el(
    "div",
    { class: "start-screen" },
    el("h2", {}, "Who rates?"),
    el("p", { class: "muted" }, `Your ratings of ${plural(data.cases.length, "case")} are stored and exported under your name.`),
    form,
    known.length ? el("p", { class: "label" }, "Continue in this browser as") : null,
    el("div", { class: "choices" }, known),
    el("p", {}, el("button", { type: "button", class: "link", on: { click: onOpen } }, "Open a file that you exported")),
  );
}

function helpText() {
  const key = (name) => el("kbd", {}, name);
  return el(
    "ul",
    {},
    el("li", {}, "Read both reports. The reference is right; judge the candidate."),
    el("li", {}, "Select the words of an error. By mouse: drag. By touch: tap the first and the last word. By keyboard: Tab to a report, arrow keys, and Shift with arrow keys."),
    el("li", {}, "Choose the type of error, or press its letter; press ", key("s"), " if it does not matter for the patient’s care. A missing finding may be marked in the reference, or nowhere."),
    el("li", {}, key("Delete"), " removes the last error. ", key("Ctrl+Z"), " takes back a step, ", key("Ctrl+Y"), " repeats it."),
    el("li", {}, "Rate the candidate from ", key("1"), " to ", key("5"), ". ", key("n"), " and ", key("p"), " go to the next and to the previous case, ", key("u"), " to the next unrated one."),
    el("li", {}, "The browser saves after every change. At the end, export the file and send it back. Nothing leaves this computer before. Each rater sees the cases in an order of their own."),
  );
}
