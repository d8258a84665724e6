// Elements. Whatever comes from the data becomes a text node or an attribute that holds text: never markup.

const SPACE = "http://www.w3.org/2000/svg";

function make(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === "style") for (const [key, set] of Object.entries(value)) node.style.setProperty(key, set);
    else if (name === "tip") node.dataset.tip = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// el("td", {class: "n", tip: "…"}, "text", otherElement)
const el = (name, attributes = {}, ...children) => make(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) => make(document.createElementNS(SPACE, name), attributes, children);
const byId = (id) => document.getElementById(id);

// Children are nodes, text, lists of them, or nothing.
const add = (node, ...children) => make(node, {}, children);

// A box that scrolls sideways by itself, also by keyboard, so that the page never has to.
const wide = (label, ...children) =>
  el("div", { class: "wide", role: "region", "aria-label": label, tabindex: 0 }, ...children);

function select(label, options, value, act) {
  const input = el(
    "select",
    { on: { change: () => act(input.value) } },
    options.map(([key, title]) => el("option", { value: key, selected: key === value }, title)),
  );
  return el("label", { class: "field" }, el("span", {}, label), input);
}

function search(label, value, act) {
  const input = el("input", {
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    on: { input: () => act(input.value) },
  });
  input.value = value;
  return el("label", { class: "field" }, el("span", {}, label), input);
}

// A drawing that depends on the width it has: drawn when it is known and again when it changes.
function responsive(draw, attributes = {}) {
  const box = el("div", { class: "drawing", ...attributes });
  let known = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width === known || width === 0) return;
    known = width;
    box.replaceChildren(draw(width));
  }).observe(box);
  return box;
}
