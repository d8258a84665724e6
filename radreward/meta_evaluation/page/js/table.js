// Tables that sort: the head of a column is a button, and `aria-sort` tells the order. What is not known comes last.

const orders = new Map(); // by table, so that a table drawn anew keeps its order

// columns: [{title, value: row → number or text to sort by, cell: row → what to show, told: row → its tooltip, numeric,
// head, tip, class}]
// pinned: rows that stay on top. begin: [column, "descending" or "ascending"].
function sortable(key, label, columns, rows, begin, pinned = []) {
  const order = orders.get(key) ?? { column: begin[0], direction: begin[1] };
  orders.set(key, order);
  const line = (row, attributes = {}) =>
    el(
      "tr",
      attributes,
      columns.map((column, place) =>
        el(
          place === 0 ? "th" : "td",
          {
            class: classes(column),
            scope: place === 0 && "row",
            tip: column.told?.(row),
            tabindex: column.told ? -1 : null,
          },
          column.cell(row),
        ),
      ),
    );
  const lines = new Map(rows.map((row) => [row, line(row, row.attributes)]));
  const body = el("tbody");
  const heads = columns.map((column, place) =>
    el(
      "th",
      { class: classes(column), scope: "col" },
      column.value
        ? el(
            "button",
            { type: "button", class: "sort", tip: column.tip, on: { click: () => press(place) } },
            column.title,
          )
        : el("span", { tip: column.tip, tabindex: column.tip ? 0 : null }, column.title),
      column.head,
    ),
  );

  function press(place) {
    const turned = order.direction === "descending" ? "ascending" : "descending";
    order.direction = order.column === place ? turned : columns[place].numeric ? "descending" : "ascending";
    order.column = place;
    arrange();
  }

  function arrange() {
    heads.forEach((head, place) => {
      if (!columns[place].value) return;
      head.setAttribute("aria-sort", place === order.column ? order.direction : "none");
    });
    const sign = order.direction === "descending" ? -1 : 1;
    const { value } = columns[order.column];
    const sorted = [...rows].sort((a, b) => compare(value(a), value(b), sign));
    body.replaceChildren(...sorted.map((row) => lines.get(row)));
  }

  arrange();
  const table = el(
    "table",
    { class: "sortable", on: { keydown: moveFocus } },
    el("caption", { class: "unseen" }, label),
    el("thead", {}, el("tr", {}, heads)),
    pinned.length
      ? el(
          "tbody",
          { class: "pinned" },
          pinned.map((row) => line(row)),
        )
      : null,
    body,
  );
  enter(table);
  return table;
}

const classes = (column) => [column.numeric ? "n" : "", column.class ?? ""].join(" ").trim() || null;

function compare(one, other, sign) {
  if (!known(one) || !known(other)) return known(one) ? -1 : known(other) ? 1 : 0;
  return (
    sign * (typeof one === "number" ? one - other : String(one).localeCompare(String(other), "en", { numeric: true }))
  );
}
