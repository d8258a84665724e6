// Two reports side by side: fields to fill, and the marked texts.

const SIDES = { reference: "Reference", candidate: "Candidate" };

// A field for a report: typed, pasted, or the text of a dropped file.
function reportField(side) {
  const input = el("textarea", { rows: 8, name: side, spellcheck: "false", autocomplete: "off", required: true });
  const drop = async (event) => {
    event.preventDefault();
    input.classList.remove("over");
    const [file] = event.dataTransfer.files;
    input.value = file ? await file.text() : event.dataTransfer.getData("text/plain");
  };
  const over = (event) => {
    event.preventDefault();
    input.classList.add("over");
  };
  configure(input, { on: { drop, dragover: over, dragleave: () => input.classList.remove("over") } }, []);
  return el("label", { class: "pane" }, el("span", { class: "label" }, SIDES[side]), input);
}

// Both texts with the findings of a metric, or, if it gives no positions, with the words that differ.
function comparedReports(texts, findings) {
  const placed = findings.filter((finding) => isDefined(finding.start));
  const pane = (side, content) => el("div", {}, el("h3", {}, SIDES[side]), el("p", { class: "report" }, content));
  if (placed.length)
    return Object.keys(SIDES).map((side) =>
      pane(
        side,
        markedText(
          texts[side],
          placed.filter((finding) => finding.side === side),
        ),
      ),
    );
  const segments = diffWords(texts.reference, texts.candidate);
  const marked = (index, mark) => segments[index].map(([part, differs]) => (differs ? el(mark, {}, part) : part));
  return Object.keys(SIDES).map((side, index) =>
    pane(side, segments ? marked(index, index ? "ins" : "del") : texts[side]),
  );
}
