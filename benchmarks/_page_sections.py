"""Sections of synthetic results of a benchmark; intervals and p-values are approximations that look realistic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, norm, pearsonr, spearmanr

from radreward.criteria import RadCliQCriteria

Floats = NDArray[np.float64]

WITH_COUNTS = ("reward-model", "radreason", "green")
SYSTEMS = ("retrieval", "encoder-decoder", "large model", "two stages")
PROBES = {
    **{
        name: "falls" for name in ("laterality", "negation", "severity", "measurement", "device position", "comparison")
    },
    **{name: "stays" for name in ("paraphrase", "reordering", "synonym", "abbreviation", "whitespace", "case")},
}
TAGS = RadCliQCriteria().tags


class SampledPairs(NamedTuple):
    """n rated pairs with K error counts each."""

    rows: list[dict[str, Any]]
    counts: Floats
    significant: Floats
    system: NDArray[np.str_]


def _estimate(value: float, n: int, function: str) -> dict[str, float | None]:
    if np.isnan(value):
        return {"value": None, "low": None, "high": None, "p": None}
    width = (0.8 if function == "tau_b" else 1.1) * np.sqrt(1 - min(0.99, value**2)) / np.sqrt(n)
    p = 2 * norm.sf(abs(value) / max(width, 1e-9))
    return {"value": value, "low": max(-1, value - 1.96 * width), "high": min(1, value + 1.96 * width), "p": float(p)}


def _agreement(score: Floats, target: Floats) -> tuple[int, dict[str, dict[str, float | None]]]:
    scored = ~np.isnan(score)
    x, y = score[scored], target[scored]
    constant = len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0
    estimates = {
        name: _estimate(float("nan") if constant else float(function(x, y).statistic), len(x), name)
        for name, function in (("tau_b", kendalltau), ("spearman", spearmanr), ("pearson", pearsonr))
    }
    return len(x), estimates


def _agreement_rows(
    sampled: SampledPairs, scores: dict[str, Floats], targets: dict[str, Floats]
) -> list[dict[str, Any]]:
    n = len(sampled.rows)
    agreement: list[dict[str, Any]] = []
    for name in scores:
        for target in targets:
            scopes: dict[str, NDArray[np.bool_]] = {"pooled": np.ones(n, dtype=bool)}
            scopes |= {f"system:{system}": sampled.system == system for system in SYSTEMS}
            within: list[float] = []
            for scope, mask in scopes.items():
                count, estimates = _agreement(scores[name][mask], targets[target][mask])
                note = "all scores are equal" if estimates["tau_b"]["value"] is None else None
                entry: dict[str, Any] = {"scorer": name, "target": target, "scope": scope, "n": count, "note": note}
                agreement.append({**entry, "n_clusters": n // 4, **estimates})
                value = estimates["tau_b"]["value"]
                within.append(float("nan") if value is None else value)
            mean = float(np.mean(within[1:]))
            entry = {"scorer": name, "target": target, "scope": "within", "n": n, "note": None}
            agreement.append(
                {
                    **entry,
                    "n_clusters": n // 4,
                    **{key: _estimate(mean, n, key) for key in ("tau_b", "spearman", "pearson")},
                }
            )
    return agreement


def build_results(
    sampled: SampledPairs,
    raters: dict[str, Floats],
    targets: dict[str, Floats],
    scores: dict[str, Floats],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return the content of `results.json`."""
    n, names = len(sampled.rows), list(scores)
    lower = {"radcliq-v1"}
    oriented = {name: -column if name in lower else column for name, column in scores.items()}
    oriented_targets = {name: column if name == "rating" else -column for name, column in targets.items()}
    agreement = _agreement_rows(sampled, oriented, oriented_targets)
    tau = {(e["scorer"], e["target"]): e["tau_b"]["value"] for e in agreement if e["scope"] == "pooled"}
    return {
        "format": 2,
        "title": "Metrics of chest x-ray reports",
        "synthetic": True,
        "data": {
            "files": {"rated.jsonl": "6f1ed002ab5595859014ebf0951522d9" * 2},
            "pairs": n,
            "clusters": n // 4,
            "systems": list(SYSTEMS),
            "raters": list(raters),
            "notes": ["2 pairs have the same reference and candidate."],
        },
        "targets": [
            {"name": name, "title": _title(name), "higher_is_better": name == "rating", "pairs": n, "notes": []}
            for name in targets
        ],
        "scorers": [*(_scorer(name, scores[name]) for name in names), _failed(n)],
        "agreement": agreement,
        "inter_rater": _raters(raters),
        "scorer_comparisons": _paired(names, list(targets), tau, n),
        "scorer_correlations": {"names": names, "tau_b": _between(names, oriented)},
        **_systems(sampled, names, scores, rng),
        "count_agreement": _counts(sampled, names),
        "preferences": _preferences(names, rng),
        "probes": _probes(names, rng),
        "settings": {
            "n_resamples": 1000,
            "n_permutations": 10_000,
            "seed": 0,
            "versions": {"radreward": "0.1.0", "scipy": "1.17.1"},
        },
    }


def _title(target: str) -> str:
    titles = {"errors": "Errors, all", "errors_significant": "Errors, significant", "rating": "Rating"}
    return titles.get(target) or target.removeprefix("criterion:").replace("_", " ").capitalize()


def _scorer(name: str, score: Floats) -> dict[str, Any]:
    missing = int(np.isnan(score).sum())
    return {
        **{"name": name, "title": name.replace("-", " ").capitalize(), "status": "ok", "failure": None},
        **{"scorer": name, "output": "total"},
        **{"higher_is_better": name != "radcliq-v1", "range": [None, None] if name == "radcliq-v1" else [0, 1]},
        **{
            "num_scored": len(score) - missing,
            "num_computed": len(score),
            "num_cached": 0,
            "seconds": 0.01 * len(score),
        },
        "unscored_reasons": {"no entities in the reference": missing} if missing else {},
        "sub_names": list(TAGS) if name in WITH_COUNTS else [],
    }


def _failed(n: int) -> dict[str, Any]:
    return {
        **{"name": "perplexity", "title": "Perplexity", "status": "failed", "failure": "returned 3 scores for 4 pairs"},
        **{
            "higher_is_better": False,
            "range": [0, None],
            "num_scored": 0,
            "num_computed": 0,
            "num_cached": 0,
            "seconds": 0.2,
        },
        **{"unscored_reasons": {"returned 3 scores for 4 pairs": n}, "sub_names": []},
    }


def _raters(raters: dict[str, Floats]) -> list[dict[str, Any]]:
    comparisons: list[tuple[str, str, str | None, Floats, Floats]] = []
    for name, ratings in raters.items():
        other_ratings = np.mean([column for rater_b, column in raters.items() if rater_b != name], axis=0)
        comparisons.append(("against_mean", name, None, ratings, other_ratings))
    comparisons += [
        ("pairwise", rater_a, rater_b, raters[rater_a], raters[rater_b]) for rater_a, rater_b in combinations(raters, 2)
    ]
    return [
        {
            **{"target": "errors", "kind": kind, "rater_a": rater_a, "rater_b": rater_b, "n": len(ratings)},
            **{key: figure["value"] for key, figure in _agreement(ratings, other_ratings)[1].items()},
        }
        for kind, rater_a, rater_b, ratings, other_ratings in comparisons
    ]


def _paired(
    names: Sequence[str], targets: Sequence[str], tau: dict[tuple[str, str], float | None], n: int
) -> list[dict[str, Any]]:
    entries = []
    for target in targets:
        for name_a, name_b in combinations(names, 2):
            first, second = tau[name_a, target], tau[name_b, target]
            entry: dict[str, Any] = {"target": target, "scorer_a": name_a, "scorer_b": name_b}
            if first is None or second is None:
                keys = ("difference", "low", "high", "p_permutation", "p_holm")
                entries.append({**entry, **dict.fromkeys(keys)})
                continue
            gap, width = first - second, 1 / np.sqrt(n)
            p = float(2 * norm.sf(abs(gap) / width))
            entries.append(
                {
                    **entry,
                    **{"difference": gap, "low": gap - 1.96 * width, "high": gap + 1.96 * width},
                    **{"p_permutation": p, "p_holm": min(1.0, 20 * p)},
                }
            )
    return entries


def _between(names: Sequence[str], scores: dict[str, Floats]) -> list[list[float | None]]:
    matrix: list[list[float | None]] = [[1.0 if name_a == name_b else None for name_b in names] for name_a in names]
    for (i, name_a), (j, name_b) in combinations(enumerate(names), 2):
        scored = ~np.isnan(scores[name_a])
        matrix[i][j] = matrix[j][i] = _agreement(scores[name_b][scored], scores[name_a][scored])[1]["tau_b"]["value"]
    return matrix


def _systems(
    sampled: SampledPairs, names: Sequence[str], scores: dict[str, Floats], rng: np.random.Generator
) -> dict[str, list[dict[str, Any]]]:
    means, pairs, ranks = [], [], []
    for name in names:
        by_system = {system: scores[name][(sampled.system == system) & ~np.isnan(scores[name])] for system in SYSTEMS}
        for system, values in by_system.items():
            mean, half = float(values.mean()), float(1.96 * values.std() / np.sqrt(len(values)))
            means.append({"scorer": name, "system": system, "n": len(values), "mean": mean})
            means[-1] |= {"low": mean - half, "high": mean + half}
        for system_a, system_b in combinations(SYSTEMS, 2):
            gap = float(by_system[system_a].mean() - by_system[system_b].mean())
            half = float(1.96 * scores[name][~np.isnan(scores[name])].std() * np.sqrt(2 / len(by_system[system_a])))
            p = float(2 * norm.sf(1.96 * abs(gap) / half)) if half else None
            pairs.append({"scorer": name, "system_a": system_a, "system_b": system_b, "difference": gap, "p": p})
            pairs[-1] |= {"low": gap - half, "high": gap + half, "p_holm": None if p is None else min(1.0, 6 * p)}
        tau = None if name == "constant" else float(rng.choice([1, 2 / 3, 1 / 3]))
        ranks.append({"scorer": name, "target": "errors", "tau_b": tau, "n": len(SYSTEMS)})
    return {"system_means": means, "system_differences": pairs, "system_rank_agreement": ranks}


def _counts(sampled: SampledPairs, names: Sequence[str]) -> list[dict[str, Any]]:
    entries = []
    for name in (name for name in WITH_COUNTS if name in names):
        for rank, tag in enumerate(TAGS):
            predicted = np.array([row["error_counts"][name][tag] for row in sampled.rows])
            true = sampled.counts[:, rank]
            bins = [part for part in np.array_split(np.argsort(predicted), 6) if len(part)]
            entries.append(
                {
                    **{"scorer": name, "criterion": tag, "n": len(true)},
                    **{"mae": float(np.abs(predicted - true).mean()), "std": float(np.abs(predicted - true).std())},
                    "accuracy": float((predicted.round() == true).mean()),
                    "calibration": [[float(predicted[b].mean()), float(true[b].mean()), len(b)] for b in bins],
                }
            )
    return entries


def _preferences(names: Sequence[str], rng: np.random.Generator) -> list[dict[str, Any]]:
    entries = []
    for rank, name in enumerate(names):
        for step, confidence in enumerate(([1, 4], [5, 7], [8, 10], "all")):
            n = 180 if confidence == "all" else 60
            value = 0.5 if name == "constant" else 0.88 - 0.018 * rank + 0.03 * (step % 3 - 1) + rng.normal(0, 0.01)
            half = 1.96 * np.sqrt(value * (1 - value) / n)
            entries.append({"scorer": name, "confidence": confidence, "n": n, "accuracy": float(value)})
            entries[-1] |= {"low": float(value - half), "high": float(value + half)}
    return entries


def _probes(names: Sequence[str], rng: np.random.Generator) -> list[dict[str, Any]]:
    entries = []
    for rank, name in enumerate(names):
        for probe, kind in PROBES.items():
            score = float(np.clip(1 - 0.04 * rank + rng.normal(0, 0.1), 0, 1))
            slope = -0.6 * score if kind == "falls" else -0.3 * (1 - score)
            doses = [[dose, float(slope * dose + rng.normal(0, 0.04))] for dose in (1, 2, 3, 4)]
            entries.append({"scorer": name, "probe": probe, "kind": kind, "score": score, "n": 200, "doses": doses})
            entries[-1]["note"] = "scores do not change" if name == "constant" else None
    return entries
