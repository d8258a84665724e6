// A matrix as a table of shaded cells; one of them can have the focus, and arrow keys move it.

// cell(row, column) → {text, heat: from -1 to 1, tip, faint} or null. Heads are [key, title].
function heatmap(label, rows, columns, cell, { parts = [] } = {}) {
  const shade = (found) => {
    if (!found) return { class: "self" };
    const heat = known(found.heat) ? Math.max(-1, Math.min(1, found.heat)) : 0;
    const tone = [heat < 0 ? "warm" : "cool", found.faint ? "faint" : ""];
    return {
      class: tone.join(" ").trim(),
      style: { "--heat": String(Math.round(100 * Math.abs(heat))) },
      tip: found.tip,
      tabindex: -1,
    };
  };
  const body = rows.map(([row, title]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: row === state.scorer ? "focus" : null }, title),
      columns.map(([column]) => {
        const found = cell(row, column);
        return el("td", shade(found), found?.text ?? "");
      }),
    ),
  );
  const table = el(
    "table",
    { class: "heat", role: "grid", "aria-label": label, on: { keydown: moveFocus } },
    el(
      "thead",
      {},
      parts.length
        ? el(
            "tr",
            {},
            el("td"),
            parts.map(([title, span]) => el("th", { scope: "colgroup", colspan: span, class: "part" }, title)),
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
  enter(table);
  return el("div", { class: "wide" }, table);
}

// Of the cells that can have the focus, Tab leads to the first.
const enter = (table) => table.querySelector("td[tabindex]")?.setAttribute("tabindex", 0);

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

// Without the 0 before the point, so that many fit beside each other.
const brief = (value, sign = false) =>
  known(value) ? (sign ? signed(value) : fixed(value)).replace(/^([+−]?)0\./, "$1.") : NONE;
