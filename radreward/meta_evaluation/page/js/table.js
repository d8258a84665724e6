// Sortable tables: each column head is a button, and `aria-sort` states the order. Undefined values come last.

const sortOrders = new Map(); // by table key, so that a table keeps its order when it is rendered again

// columns: [{title, value: row → number or text to sort by, cell: row → content, cellTooltip: row → text, numeric,
// head: node under the title, headTooltip, class}]
// initialOrder: [column index, "descending" or "ascending"]. pinned: rows that stay on top.
function sortable(key, label, columns, rows, initialOrder, pinned = []) {
  const order = sortOrders.get(key) ?? { column: initialOrder[0], direction: initialOrder[1] };
  sortOrders.set(key, order);
  const renderRow = (row, attributes = {}) =>
    el(
      "tr",
      attributes,
      columns.map((column, index) =>
        el(
          index === 0 ? "th" : "td",
          {
            class: cellClass(column),
            scope: index === 0 && "row",
            tooltip: column.cellTooltip?.(row),
            tabindex: column.cellTooltip ? -1 : null,
          },
          column.cell(row),
        ),
      ),
    );
  const lines = new Map(rows.map((row) => [row, renderRow(row, row.attributes)]));
  const body = el("tbody");
  const heads = columns.map((column, index) =>
    el(
      "th",
      { class: cellClass(column), scope: "col" },
      column.value
        ? el(
            "button",
            { type: "button", class: "sort", tooltip: column.headTooltip, on: { click: () => sortBy(index) } },
            column.title,
          )
        : el("span", { tooltip: column.headTooltip, tabindex: column.headTooltip ? 0 : null }, column.title),
      column.head,
    ),
  );

  function sortBy(index) {
    const reversed = order.direction === "descending" ? "ascending" : "descending";
    order.direction = order.column === index ? reversed : columns[index].numeric ? "descending" : "ascending";
    order.column = index;
    arrange();
  }

  function arrange() {
    heads.forEach((head, index) => {
      if (!columns[index].value) return;
      head.setAttribute("aria-sort", index === order.column ? order.direction : "none");
    });
    const sign = order.direction === "descending" ? -1 : 1;
    const { value } = columns[order.column];
    const sorted = [...rows].sort((a, b) => compareValues(value(a), value(b), sign));
    body.replaceChildren(...sorted.map((row) => lines.get(row)));
  }

  arrange();
  const table = el(
    "table",
    { class: "sortable", on: { keydown: moveFocus } },
    el("caption", { class: "visually-hidden" }, label),
    el("thead", {}, el("tr", {}, heads)),
    pinned.length
      ? el(
          "tbody",
          { class: "pinned" },
          pinned.map((row) => renderRow(row)),
        )
      : null,
    body,
  );
  makeTabbable(table);
  return table;
}

const cellClass = (column) => [column.numeric ? "n" : "", column.class ?? ""].join(" ").trim() || null;

function compareValues(a, b, sign) {
  if (!isDefined(a) || !isDefined(b)) return isDefined(a) ? -1 : isDefined(b) ? 1 : 0;
  return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
}
