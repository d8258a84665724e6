// Charts with two axes: points, and lines.

const MARGIN = { left: 42, right: 12, top: 8, bottom: 38 };

// A title as far as there is room for it; the label of the chart has it whole.
const fitting = (title, room) => (title.length > room / 6 ? `${title.slice(0, room / 6 - 1)}…` : title);

// The frame of a chart: axes with ticks and titles; `x` and `y` turn values into places.
function frame(width, height, xs, ys, titles) {
  const room = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const scale =
    ([low, high], from, length) =>
    (value) =>
      from + (length * (value - low)) / (high - low || 1);
  const x = scale(xs, MARGIN.left, room.width);
  const y = scale(ys, MARGIN.top + room.height, -room.height);
  const bottom = MARGIN.top + room.height;
  const parts = [
    roundTicks(...xs, Math.max(3, Math.floor(room.width / 60))).map((tick) => [
      svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: MARGIN.top, y2: bottom }),
      svg("text", { class: "tick middle", x: x(tick), y: bottom + 15 }, plain(tick)),
    ]),
    roundTicks(...ys, Math.max(3, Math.floor(room.height / 40))).map((tick) => [
      svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }),
      svg("text", { class: "tick end", x: MARGIN.left - 6, y: y(tick) + 4 }, plain(tick)),
    ]),
    svg(
      "text",
      { class: "tick middle", x: MARGIN.left + room.width / 2, y: height - 4 },
      fitting(titles[0], room.width),
    ),
    svg(
      "text",
      { class: "tick middle", transform: `translate(10 ${MARGIN.top + room.height / 2}) rotate(-90)` },
      fitting(titles[1], room.height),
    ),
  ];
  return { parts, x, y };
}

const extent = (values, around = 0.04) => {
  const found = values.filter(known);
  if (!found.length) return [0, 1];
  const [low, high] = [Math.min(...found), Math.max(...found)];
  const room = around * (high - low) || 0.5;
  return [low - room, high + room];
};

// series: [{class, points: [[x, y, told], …], line, sizes}]. The point next to the mouse, or chosen with arrow keys, is told.
function chart(width, height, series, { xs, ys, titles, label, diagonal }) {
  const { parts, x, y } = frame(width, height, xs, ys, titles);
  const every = series
    .filter(({ quiet }) => !quiet)
    .flatMap(({ points }) => points)
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const mark = svg("circle", { class: "mark", r: 6, visibility: "hidden" });
  let chosen = -1;
  const tell = (number) => {
    chosen = number;
    const [px, py, told] = every[number];
    mark.setAttribute("cx", x(px));
    mark.setAttribute("cy", y(py));
    mark.setAttribute("visibility", "visible");
    mark.dataset.tip = told;
    showTip(mark);
  };
  const away = () => {
    mark.setAttribute("visibility", "hidden");
    hideTip();
  };
  const near = (event) => {
    const box = node.getBoundingClientRect();
    const [mx, my] = [event.clientX - box.left, event.clientY - box.top];
    const distance = ([px, py]) => Math.hypot(x(px) - mx, y(py) - my);
    let best = 0;
    for (let place = 1; place < every.length; place++) if (distance(every[place]) < distance(every[best])) best = place;
    if (every.length && distance(every[best]) < 24) tell(best);
    else away();
  };
  const press = (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!step || !every.length) return;
    event.preventDefault();
    tell(Math.max(0, Math.min(every.length - 1, chosen + step)));
  };
  const node = svg(
    "svg",
    {
      class: "chart",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${label}. Arrow keys go from point to point.`,
      tabindex: 0,
      on: { mousemove: near, mouseleave: away, keydown: press, blur: away },
    },
    parts,
    diagonal &&
      svg("line", {
        class: "zero",
        x1: x(Math.max(xs[0], ys[0])),
        y1: y(Math.max(xs[0], ys[0])),
        x2: x(Math.min(xs[1], ys[1])),
        y2: y(Math.min(xs[1], ys[1])),
      }),
    series.map(({ class: type, points, line }) => [
      line &&
        svg("path", {
          class: `curve ${type}`,
          d: points.map(([px, py], place) => `${place ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join(""),
        }),
      line === "only"
        ? null
        : svg("path", {
            class: `dots ${type}`,
            d: points.map(([px, py]) => `M${x(px).toFixed(1)} ${y(py).toFixed(1)}h0`).join(""),
          }),
    ]),
    mark,
  );
  return node;
}

// Charts beside each other, as many as fit; each has a title and draws itself at the width it gets.
const panels = (every, size = "three") =>
  el(
    "div",
    { class: `panels ${size}` },
    every.map(({ title, note, draw, ratio = 0.75 }) =>
      el(
        "figure",
        {},
        el("figcaption", {}, el("b", {}, title), note ? el("span", {}, note) : null),
        responsive((width) => draw(width, Math.round(ratio * width)), { style: { "aspect-ratio": String(1 / ratio) } }),
      ),
    ),
  );
