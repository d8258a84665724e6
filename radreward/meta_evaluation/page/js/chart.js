// Charts with two axes: points and lines.

const MANY_POINTS = 100; // from which on dots are small
const MARGIN = { left: 42, right: 12, top: 8, bottom: 38 };

// An axis title, truncated to the space; the chart's label has the complete title.
const truncateTitle = (title, space) => (title.length > space / 6 ? `${title.slice(0, space / 6 - 1)}…` : title);

// Axes with ticks and titles; `x` and `y` map values to pixels.
function chartFrame(width, height, xRange, yRange, titles) {
  const area = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const scale =
    ([low, high], from, length) =>
    (value) =>
      from + (length * (value - low)) / (high - low || 1);
  const x = scale(xRange, MARGIN.left, area.width);
  const y = scale(yRange, MARGIN.top + area.height, -area.height);
  const bottom = MARGIN.top + area.height;
  const nodes = [
    roundTicks(...xRange, Math.max(3, Math.floor(area.width / 60))).map((tick) => [
      svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: MARGIN.top, y2: bottom }),
      svg("text", { class: "tick middle", x: x(tick), y: bottom + 15 }, significantDigits(tick)),
    ]),
    roundTicks(...yRange, Math.max(3, Math.floor(area.height / 40))).map((tick) => [
      svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }),
      svg("text", { class: "tick end", x: MARGIN.left - 6, y: y(tick) + 4 }, significantDigits(tick)),
    ]),
    svg(
      "text",
      { class: "tick middle", x: MARGIN.left + area.width / 2, y: height - 4 },
      truncateTitle(titles[0], area.width),
    ),
    svg(
      "text",
      { class: "tick middle", transform: `translate(10 ${MARGIN.top + area.height / 2}) rotate(-90)` },
      truncateTitle(titles[1], area.height),
    ),
  ];
  return { nodes, x, y };
}

// The range of the values with a margin on both sides.
const paddedRange = (values, padding = 0.04) => {
  const defined = values.filter(isDefined);
  if (!defined.length) return [0, 1];
  const [low, high] = [Math.min(...defined), Math.max(...defined)];
  const margin = padding * (high - low) || 0.5;
  return [low - margin, high + margin];
};

// series: [{class, points: [[x, y, tooltip], …], line: true or "only", inactive}]. The tooltip belongs to the point that
// is next to the mouse or selected with the arrow keys; points of inactive series have no tooltip.
function chart(width, height, series, { xRange, yRange, titles, label, diagonal }) {
  const { nodes, x, y } = chartFrame(width, height, xRange, yRange, titles);
  const points = series
    .filter(({ inactive }) => !inactive)
    .flatMap((entry) => entry.points)
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const mark = svg("circle", { class: "mark", r: 6, visibility: "hidden" });
  let selected = -1;
  const selectPoint = (index) => {
    selected = index;
    const [px, py, text] = points[index];
    mark.setAttribute("cx", x(px));
    mark.setAttribute("cy", y(py));
    mark.setAttribute("visibility", "visible");
    mark.dataset.tooltip = text;
    showTooltip(mark);
  };
  const deselect = () => {
    mark.setAttribute("visibility", "hidden");
    hideTooltip();
  };
  const selectNearest = (event) => {
    const box = node.getBoundingClientRect();
    const [mx, my] = [event.clientX - box.left, event.clientY - box.top];
    const distance = ([px, py]) => Math.hypot(x(px) - mx, y(py) - my);
    let nearest = 0;
    for (let index = 1; index < points.length; index++)
      if (distance(points[index]) < distance(points[nearest])) nearest = index;
    if (points.length && distance(points[nearest]) < 24) selectPoint(nearest);
    else deselect();
  };
  const selectByKey = (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!step || !points.length) return;
    event.preventDefault();
    selectPoint(Math.max(0, Math.min(points.length - 1, selected + step)));
  };
  const node = svg(
    "svg",
    {
      class: "chart",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${label}. Use the arrow keys to move between points.`,
      tabindex: 0,
      on: { mousemove: selectNearest, mouseleave: deselect, keydown: selectByKey, blur: deselect },
    },
    nodes,
    diagonal &&
      svg("line", {
        class: "zero",
        x1: x(Math.max(xRange[0], yRange[0])),
        y1: y(Math.max(xRange[0], yRange[0])),
        x2: x(Math.min(xRange[1], yRange[1])),
        y2: y(Math.min(xRange[1], yRange[1])),
      }),
    series.map(({ class: type, points: coordinates, line }) => [
      line &&
        svg("path", {
          class: `curve ${type}`,
          d: coordinates
            .map(([px, py], index) => `${index ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`)
            .join(""),
        }),
      line === "only"
        ? null
        : svg("path", {
            class: `dots ${type}${points.length < MANY_POINTS ? " few" : ""}`,
            d: coordinates.map(([px, py]) => `M${x(px).toFixed(1)} ${y(py).toFixed(1)}h0`).join(""),
          }),
    ]),
    mark,
  );
  return node;
}

// Charts side by side, as many as fit. Each has a title and is drawn at the width it gets.
const panels = (entries, size = "three") =>
  el(
    "div",
    { class: `panels ${size}` },
    entries.map(({ title, note, draw, ratio = 0.75 }) =>
      el(
        "figure",
        {},
        el("figcaption", {}, el("b", {}, title), note ? el("span", {}, note) : null),
        responsive((width) => draw(width, Math.round(ratio * width)), { style: { "aspect-ratio": String(1 / ratio) } }),
      ),
    ),
  );
