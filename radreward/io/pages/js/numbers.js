// Numbers formatted as text.

const NONE = "–";
const isDefined = (value) => value !== null && value !== undefined;
const withMinusSign = (text) => text.replace("-", "−");
// Zero has no sign: "−0.00" becomes "0.00".
const fixed = (value, digits = 2) =>
  isDefined(value) ? withMinusSign(value.toFixed(digits)).replace(/^−(0\.?0*)$/, "$1") : NONE;
const signed = (value, digits = 2) =>
  isDefined(value) ? (Number(value.toFixed(digits)) > 0 ? "+" : "") + fixed(value, digits) : NONE;
const count = (value) => (isDefined(value) ? value.toLocaleString("en") : NONE);
const percent = (value) => (isDefined(value) ? `${Math.round(100 * value)} %` : NONE);
// 10,000 permutations cannot resolve a smaller p.
const pValue = (value) =>
  !isDefined(value) ? NONE : value <= 0.0001 ? "< 0.0001" : value.toFixed(value < 0.001 ? 4 : 3);
const interval = (low, high, digits = 2) =>
  isDefined(low) && isDefined(high) ? `${fixed(low, digits)} to ${fixed(high, digits)}` : NONE;
const significantDigits = (value, digits = 3) =>
  isDefined(value) ? withMinusSign(String(Number(value.toPrecision(digits)))) : NONE;
const plural = (number, singular, many = `${singular}s`) => `${count(number)} ${number === 1 ? singular : many}`;
