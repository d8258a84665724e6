// A value with its interval on an axis shared by all rows of a table. Positions are percentages of the width.

// Ticks at round numbers that enclose the values; `low` and `high` are always on the axis.
function axisOf(values, low = 0, high = 0.1, maxTicks = 6) {
  const ends = [Math.min(low, ...values), Math.max(high, ...values)];
  const ticks = roundTicks(ends[0], ends[1], maxTicks, true);
  const [from, to] = [ticks[0], ticks.at(-1)];
  return { ticks, position: (value) => `${(100 * (value - from)) / (to - from)}%` };
}

// Multiples of 1, 2 or 5 × 10^k; if `enclosing`, the first and last lie outside the range.
function roundTicks(low, high, maxTicks, enclosing = false) {
  const span = high - low || 1;
  const size = 10 ** Math.floor(Math.log10(span / maxTicks));
  const step = size * ([1, 2, 5].find((factor) => span / (size * factor) <= maxTicks) ?? 10);
  const [start, end] = enclosing
    ? [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)]
    : [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: end - start + 1 }, (_, index) => Number(((start + index) * step).toPrecision(12)));
}

const axisHead = (axis) =>
  svg(
    "svg",
    { class: "axis", "aria-hidden": "true" },
    axis.ticks.map((tick) => svg("text", { x: axis.position(tick), y: 12 }, significantDigits(tick))),
  );

// referenceLine: value of the raters or of chance. bar: draw a bar from 0 to the value. raters: use their colour.
function intervalPlot({ value, low, high }, axis, { referenceLine, bar, raters } = {}) {
  const verticalLine = (type, at) =>
    svg("line", { class: type, x1: axis.position(at), x2: axis.position(at), y1: 0, y2: "100%" });
  const width = (from, to) => `${Math.abs(parseFloat(axis.position(from)) - parseFloat(axis.position(to)))}%`;
  return svg(
    "svg",
    { class: `interval${raters ? " of-raters" : ""}`, "aria-hidden": "true" },
    axis.ticks.map((tick) => verticalLine(tick === 0 ? "zero" : "grid", tick)),
    isDefined(referenceLine) && verticalLine("raters", referenceLine),
    isDefined(value) &&
      bar &&
      svg("rect", {
        class: "bar",
        x: axis.position(Math.min(0, value)),
        width: width(0, value),
        y: "22%",
        height: "56%",
      }),
    isDefined(low) &&
      isDefined(high) &&
      svg("line", { class: "range", x1: axis.position(low), x2: axis.position(high), y1: "50%", y2: "50%" }),
    isDefined(value) && !bar && svg("circle", { class: "value", cx: axis.position(value), cy: "50%", r: 4.5 }),
  );
}
