// Findings as marks in the text of a report.

const KINDS = {
  unread: { title: "Not read", element: "span" },
  matched: { title: "Matched", element: "mark" },
  differs: { title: "Differs", element: "mark" },
  contradicted: { title: "Contradicted", element: "del" },
  missed: { title: "Missed", element: "del" },
  invented: { title: "Invented", element: "ins" },
};

// The text with a marked element per finding; offsets count characters, not UTF-16 units.
function markedText(text, findings) {
  const characters = Array.from(text);
  const parts = [];
  let position = 0;
  for (const { kind, start, end, counterpart, criterion, details } of [...findings].sort((a, b) => a.start - b.start)) {
    if (start < position) continue; // inside another finding
    parts.push(characters.slice(position, start).join(""));
    const detail = [criterion || details.join(", "), counterpart].filter(Boolean).join(" · ");
    const title = detail ? `${KINDS[kind].title}: ${detail}` : KINDS[kind].title;
    parts.push(el(KINDS[kind].element, { class: kind, title }, characters.slice(start, end).join("")));
    position = end;
  }
  return [...parts, characters.slice(position).join("")];
}

const marksLegend = (findings) =>
  el(
    "p",
    { class: "legend" },
    Object.entries(KINDS)
      .filter(([kind]) => findings.some((finding) => finding.kind === kind))
      .map(([kind, { title, element }]) => el(element, { class: kind }, title)),
  );

// Rows of [kind, text of the reference, of the candidate, criteria or details]; counterparts are listed once.
function findingRows(findings) {
  const rows = new Map();
  for (const { kind, side, text, counterpart, criterion, details } of findings) {
    const cells = side === "reference" ? [text, counterpart] : [counterpart, text];
    const row = [kind, ...cells, criterion || details.join(", ")];
    if (!rows.has(row.join("\u0000"))) rows.set(row.join("\u0000"), row);
  }
  const order = Object.keys(KINDS).reverse();
  return [...rows.values()].sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
}

function findingTable(findings) {
  const rows = findingRows(findings);
  const titles = ["Finding", "Reference", "Candidate", "Criterion"];
  const size = rows.some((row) => row[3]) ? 4 : 3; // without criteria, no column for them
  const head = titles.slice(0, size).map((title) => el("th", { scope: "col" }, title));
  const body = rows.map(([kind, ...cells]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: `kind ${kind}` }, KINDS[kind].title),
      cells.slice(0, size - 1).map((cell, index) => el("td", { class: index === 2 ? "muted" : "text" }, cell || NONE)),
    ),
  );
  return scrollBox(
    "Findings",
    el("table", { class: "parts findings" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)),
  );
}
