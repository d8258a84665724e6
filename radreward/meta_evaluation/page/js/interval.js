// A value with its interval on an axis that all rows of a table share. Places are shares of the width.

// Ticks at round numbers around the values; `low` and `high` are on it too.
function axisOf(values, low = 0, high = 0.1, most = 6) {
  const ends = [Math.min(low, ...values), Math.max(high, ...values)];
  const ticks = roundTicks(ends[0], ends[1], most, true);
  const [from, to] = [ticks[0], ticks.at(-1)];
  return { ticks, place: (value) => `${(100 * (value - from)) / (to - from)}%` };
}

// Multiples of 1, 2 or 5 × 10^k; with `around`, the first and last lie outside.
function roundTicks(low, high, most, around = false) {
  const span = high - low || 1;
  const size = 10 ** Math.floor(Math.log10(span / most));
  const step = size * ([1, 2, 5].find((factor) => span / (size * factor) <= most) ?? 10);
  const [begin, end] = around
    ? [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)]
    : [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: end - begin + 1 }, (_, place) => Number(((begin + place) * step).toPrecision(12)));
}

const axisHead = (axis) =>
  svg(
    "svg",
    { class: "axis", "aria-hidden": "true" },
    axis.ticks.map((tick) => svg("text", { x: axis.place(tick), y: 12 }, plain(tick))),
  );

// level: where people (or chance) are; bar: a bar from 0 to the value.
function intervalPlot({ value, low, high }, axis, { level, bar, people } = {}) {
  const upright = (type, at) => svg("line", { class: type, x1: axis.place(at), x2: axis.place(at), y1: 0, y2: "100%" });
  const width = (one, other) => `${Math.abs(parseFloat(axis.place(one)) - parseFloat(axis.place(other)))}%`;
  return svg(
    "svg",
    { class: `interval${people ? " of-people" : ""}`, "aria-hidden": "true" },
    axis.ticks.map((tick) => upright(tick === 0 ? "zero" : "grid", tick)),
    known(level) && upright("people", level),
    known(value) &&
      bar &&
      svg("rect", { class: "bar", x: axis.place(Math.min(0, value)), width: width(0, value), y: "22%", height: "56%" }),
    known(low) &&
      known(high) &&
      svg("line", { class: "range", x1: axis.place(low), x2: axis.place(high), y1: "50%", y2: "50%" }),
    known(value) && !bar && svg("circle", { class: "value", cx: axis.place(value), cy: "50%", r: 4.5 }),
  );
}
