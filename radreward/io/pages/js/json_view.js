// JSON as elements.

// False for the offsets of characters, which help no reader.
const isShown = (key) => key !== "start" && key !== "end";

// Any JSON: a list of objects as a table, an object as terms, everything else as text.
function renderJSON(value) {
  if (!isDefined(value)) return NONE;
  if (typeof value === "number") return significantDigits(value);
  if (typeof value !== "object") return el("span", { class: "report" }, String(value));
  if (!Array.isArray(value)) {
    return el(
      "dl",
      {},
      Object.keys(value)
        .filter(isShown)
        .map((key) => [el("dt", {}, key.replaceAll("_", " ")), el("dd", {}, renderJSON(value[key]))]),
    );
  }
  const isObjectList =
    value.length && value.every((entry) => entry && typeof entry === "object" && !Array.isArray(entry));
  if (isObjectList) return objectTable(value);
  return el(
    "ul",
    {},
    value.map((entry) => el("li", {}, renderJSON(entry))),
  );
}

function objectTable(rows) {
  const keys = [...new Set(rows.flatMap(Object.keys))].filter(isShown);
  const isNumber = (row, key) => typeof row[key] === "number";
  const head = (key) =>
    el("th", { scope: "col", class: rows.every((row) => isNumber(row, key)) ? "n" : null }, key.replaceAll("_", " "));
  return scrollBox(
    "Evidence",
    el(
      "table",
      { class: "parts" },
      el("thead", {}, el("tr", {}, keys.map(head))),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el(
            "tr",
            {},
            keys.map((key) => el("td", { class: isNumber(row, key) ? "n" : key === "side" ? "side" : null }, renderJSON(row[key]))),
          ),
        ),
      ),
    ),
  );
}
