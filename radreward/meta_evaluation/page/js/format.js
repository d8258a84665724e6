// The results, indexed by name, and numbers formatted as text.

const data = JSON.parse(byId("data").textContent);
const results = data.results;
for (const name of [
  "agreement",
  "inter_rater",
  "scorer_comparisons",
  "system_means",
  "system_differences",
  "system_rank_agreement",
  "count_agreement",
  "preferences",
  "probes",
])
  results[name] ??= [];

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

const STATISTICS = { tau_b: "Kendall’s τ-b", spearman: "Spearman’s ρ", pearson: "Pearson’s r" };
const SYMBOLS = { tau_b: "τ-b", spearman: "ρ", pearson: "r" };
const ALPHA = 0.05;

const indexBy = (entries, ...keys) =>
  new Map(entries.map((entry) => [keys.map((key) => entry[key]).join("\u0000"), entry]));
const lookUp = (index, ...keys) => index.get(keys.join("\u0000"));

const scorers = results.scorers.filter((entry) => entry.status === "ok");
const failedScorers = results.scorers.filter((entry) => entry.status !== "ok");
const targets = results.targets;
const scorerIndex = new Map(scorers.map((entry, index) => [entry.name, index]));
const targetIndex = new Map(targets.map((entry, index) => [entry.name, index]));
const scorerTitle = (name) => results.scorers.find((entry) => entry.name === name)?.title ?? name;
const targetTitle = (name) => targets.find((entry) => entry.name === name)?.title ?? name;
const agreement = indexBy(results.agreement, "scorer", "target", "scope");
const comparisons = indexBy(results.scorer_comparisons, "target", "scorer_a", "scorer_b");

// The comparison of scorer a with scorer b, negated if it is stored as b with a.
function comparisonOf(target, a, b) {
  const stored = lookUp(comparisons, target, a, b);
  if (stored) return stored;
  const reversed = lookUp(comparisons, target, b, a);
  if (!reversed) return null;
  const negate = (value) => (isDefined(value) ? -value : value);
  return {
    ...reversed,
    scorer_a: a,
    scorer_b: b,
    difference: negate(reversed.difference),
    low: negate(reversed.high),
    high: negate(reversed.low),
  };
}

// Scorers by descending agreement; undefined values last.
function rankedScorers(target, statistic = "tau_b", scope = "pooled") {
  const value = (scorer) => lookUp(agreement, scorer.name, target, scope)?.[statistic]?.value ?? -Infinity;
  return [...scorers].sort((a, b) => value(b) - value(a));
}

const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null);
