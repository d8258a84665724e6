// Numbers as text, and the tables of the results by name.

const data = JSON.parse(byId("data").textContent);
const results = data.results;
for (const name of [
  "agreement",
  "inter_rater",
  "paired",
  "systems",
  "system_pairs",
  "system_ranks",
  "counts",
  "preferences",
  "probes",
])
  results[name] ??= [];

const NONE = "–";
const known = (value) => value !== null && value !== undefined;
const minus = (text) => text.replace("-", "−");
// Nothing is −0.00.
const fixed = (value, digits = 2) => (known(value) ? minus(value.toFixed(digits)).replace(/^−(0\.?0*)$/, "$1") : NONE);
const signed = (value, digits = 2) =>
  known(value) ? (Number(value.toFixed(digits)) > 0 ? "+" : "") + fixed(value, digits) : NONE;
const count = (value) => (known(value) ? value.toLocaleString("en") : NONE);
const percent = (value) => (known(value) ? `${Math.round(100 * value)} %` : NONE);
const probability = (value) => (!known(value) ? NONE : value < 0.001 ? "< 0.001" : value.toFixed(3));
const interval = (low, high, digits = 2) =>
  known(low) && known(high) ? `${fixed(low, digits)} to ${fixed(high, digits)}` : NONE;
// As many digits as tell values of this size apart.
const plain = (value, digits = 3) => (known(value) ? minus(String(Number(value.toPrecision(digits)))) : NONE);
const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

const STATISTICS = { tau_b: "Kendall’s τ-b", spearman: "Spearman’s ρ", pearson: "Pearson’s r" };
const SIGNS = { tau_b: "τ-b", spearman: "ρ", pearson: "r" };
const ALPHA = 0.05;

const keyed = (entries, ...keys) =>
  new Map(entries.map((entry) => [keys.map((key) => entry[key]).join("\u0000"), entry]));
const at = (map, ...keys) => map.get(keys.join("\u0000"));

const scorers = results.scorers.filter((entry) => entry.status === "ok");
const failed = results.scorers.filter((entry) => entry.status !== "ok");
const targets = results.targets;
const scorerNumber = new Map(scorers.map((entry, number) => [entry.name, number]));
const targetNumber = new Map(targets.map((entry, number) => [entry.name, number]));
const titleOf = (name) => results.scorers.find((entry) => entry.name === name)?.title ?? name;
const targetTitle = (name) => targets.find((entry) => entry.name === name)?.title ?? name;
const agreement = keyed(results.agreement, "scorer", "target", "scope");
const paired = keyed(results.paired, "target", "one", "other");

// Of two scorers: how the first differs from the second, whichever way round it was computed.
function difference(target, one, other) {
  const found = at(paired, target, one, other);
  if (found) return found;
  const turned = at(paired, target, other, one);
  if (!turned) return null;
  const negated = (value) => (known(value) ? -value : value);
  return {
    ...turned,
    one,
    other,
    difference: negated(turned.difference),
    low: negated(turned.high),
    high: negated(turned.low),
  };
}

// Scorers in the order of their agreement over all pairs, the undefined last.
function ranked(target, statistic = "tau_b", scope = "pooled") {
  const value = (scorer) => at(agreement, scorer.name, target, scope)?.[statistic]?.value ?? -Infinity;
  return [...scorers].sort((a, b) => value(b) - value(a));
}

const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null);
