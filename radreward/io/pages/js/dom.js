// Element construction. Data becomes a text node or an attribute value, never markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function configure(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "style") for (const [key, setting] of Object.entries(value)) node.style.setProperty(key, setting);
    else if (name === "tooltip") node.dataset.tooltip = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// el("td", {class: "n", tooltip: "…"}, "text", childElement)
const el = (name, attributes = {}, ...children) => configure(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  configure(document.createElementNS(SVG_NAMESPACE, name), attributes, children);
const byId = (id) => document.getElementById(id);

// Children are nodes, text, nested lists of them, or null.
const add = (node, ...children) => configure(node, {}, children);

// A box that scrolls horizontally, by keyboard too, so that the page itself never does.
const scrollBox = (label, ...children) =>
  el("div", { class: "wide", role: "region", "aria-label": label, tabindex: 0 }, ...children);

function select(label, options, value, onChange) {
  const input = el(
    "select",
    { on: { change: () => onChange(input.value) } },
    options.map(([key, title]) => el("option", { value: key, selected: key === value }, title)),
  );
  return el("label", { class: "field" }, el("span", {}, label), input);
}

function search(label, value, onInput) {
  const input = el("input", {
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    on: { input: () => onInput(input.value) },
  });
  input.value = value;
  return el("label", { class: "field" }, el("span", {}, label), input);
}

// A drawing that depends on its width: drawn once the width is measured, and again after each change.
function responsive(draw, attributes = {}) {
  const box = el("div", { class: "drawing", ...attributes });
  let lastWidth = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width === lastWidth || width === 0) return;
    lastWidth = width;
    box.replaceChildren(draw(width));
  }).observe(box);
  return box;
}
