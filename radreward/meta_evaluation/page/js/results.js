// The results, indexed by name.

const data = JSON.parse(byId("data").textContent);
const results = data.results;
results.probes ??= [];

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
  const reversed = lookUp(comparisons, target, b, a);
  return stored ?? (reversed ? { ...negated(reversed), scorer_a: a, scorer_b: b } : null);
}

// A difference and its interval with the opposite sign.
function negated(entry) {
  const negate = (value) => (isDefined(value) ? -value : value);
  return { ...entry, difference: negate(entry.difference), low: negate(entry.high), high: negate(entry.low) };
}

// Scorers by descending agreement; undefined values last.
function rankedScorers(target, statistic = "tau_b", scope = "pooled") {
  const value = (scorer) => lookUp(agreement, scorer.name, target, scope)?.[statistic]?.value ?? -Infinity;
  return [...scorers].sort((a, b) => value(b) - value(a));
}

// A note of the data as a sentence.
const sentence = (note) => note[0].toUpperCase() + note.slice(1) + (/[.!?]$/.test(note) ? "" : ".");
const powerNote = (name) => targets.find((entry) => entry.name === name)?.power_note;

const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null);
