// A matrix as a table of shaded cells. One cell is in the Tab order; arrow keys move the focus between cells.

// rows and columns: [key, title]. cell(row key, column key) → {text, heat: −1 to 1, tooltip, faint} or null.
function heatmap(label, rows, columns, cell, { columnGroups = [] } = {}) {
  const shade = (content) => {
    if (!content) return { class: "self" };
    const heat = isDefined(content.heat) ? Math.max(-1, Math.min(1, content.heat)) : 0;
    return {
      class: [heat < 0 ? "warm" : "cool", content.faint ? "faint" : ""].join(" ").trim(),
      style: { "--heat": String(Math.round(100 * Math.abs(heat))) },
      tooltip: content.tooltip,
      tabindex: -1,
    };
  };
  const body = rows.map(([row, title]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: row === state.scorer ? "focus" : null }, title),
      columns.map(([column]) => {
        const content = cell(row, column);
        return el("td", shade(content), content?.text ?? "");
      }),
    ),
  );
  const table = el(
    "table",
    { class: "heat", role: "grid", "aria-label": label, on: { keydown: moveFocus } },
    el(
      "thead",
      {},
      columnGroups.length
        ? el(
            "tr",
            {},
            el("td"),
            columnGroups.map(([title, span]) =>
              el("th", { scope: "colgroup", colspan: span, class: "column-group" }, title),
            ),
          )
        : null,
      el(
        "tr",
        {},
        el("td"),
        columns.map(([key, title]) =>
          el("th", { scope: "col", class: key === state.scorer ? "focus" : null }, el("span", {}, title)),
        ),
      ),
    ),
    el("tbody", {}, body),
  );
  makeTabbable(table);
  return el("div", { class: "wide" }, table);
}

// Put the first focusable cell into the Tab order.
const makeTabbable = (table) => table.querySelector("td[tabindex]")?.setAttribute("tabindex", 0);

function moveFocus(event) {
  const lines = [...[...event.currentTarget.tBodies].at(-1).rows];
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const from = event.target.closest("td[tabindex]");
  if (!step || !from) return;
  event.preventDefault();
  let [row, column] = [lines.indexOf(from.parentNode) + step[0], from.cellIndex + step[1]];
  while (lines[row]?.cells[column] && !lines[row].cells[column].hasAttribute("tabindex"))
    [row, column] = [row + step[0], column + step[1]];
  const to = lines[row]?.cells[column];
  if (!to || column === 0) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

// A number without the 0 before the decimal point, for narrow cells.
const compact = (value, withSign = false) =>
  isDefined(value) ? (withSign ? signed(value) : fixed(value)).replace(/^([+−]?)0\./, "$1.") : NONE;
