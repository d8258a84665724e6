"""Results and rows as a benchmark of metrics writes them, made up: reports of the grammar, scorers of known noise.

Coefficients are those of the scores made up; intervals and p-values are approximations that look like real ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, norm, pearsonr, spearmanr

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.synthesis import synthesize

Floats = NDArray[np.float64]

NAMES = (
    *("reward-model", "radreason", "green", "radcliq-v1", "ratescore", "radgraph-f1", "bertscore", "sentences"),
    *("observations-f1", "entity-overlap", "chexbert", "meteor", "chrf", "rouge-l", "cider", "rouge-2", "bleu-2"),
    *("bleu-4", "length", "constant"),
)
"""From the least noise to the most; of the last, all scores are equal."""
WITH_COUNTS = ("reward-model", "radreason", "green")
SYSTEMS = ("retrieval", "encoder-decoder", "large model", "two stages")
PROBES = {
    **{
        name: "falls" for name in ("laterality", "negation", "severity", "measurement", "device position", "comparison")
    },
    **{name: "stays" for name in ("paraphrase", "reordering", "synonym", "abbreviation", "whitespace", "case")},
}
TAGS = RadCliQCriteria().tags


class Drawn(NamedTuple):
    """What is rated: n pairs, and K counts of each."""

    rows: list[dict[str, Any]]
    counts: Floats
    significant: Floats
    system: NDArray[np.str_]


def pretend(cases: int = 500, scorers: int = 20, seed: int = 0) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Results and rows of four candidates a case; another scorer has failed, and one could not score some pairs.

    Args:
        cases: How many.
        scorers: How many that did not fail, from 4 to 20.
        seed: Decides everything.
    """
    rng = np.random.default_rng(seed)
    drawn = _reports(cases, seed, rng)
    n, errors = len(drawn.rows), drawn.counts.sum(axis=1)
    raters = {f"rater {k}": np.maximum(0, errors + rng.normal(0, 0.6, n)).round() for k in (1, 2, 3)}
    targets = {
        "errors": np.mean(list(raters.values()), axis=0),
        "errors_significant": drawn.significant.sum(axis=1),
        "rating": np.clip(5 - 0.7 * errors + rng.normal(0, 0.7, n), 1, 5).round(2),
        **{f"criterion:{tag}": drawn.counts[:, place] for place, tag in enumerate(TAGS)},
    }
    names = [*NAMES[: scorers - 1], NAMES[-1]]
    scores = {name: _scores(name, place, errors, drawn.system, rng) for place, name in enumerate(names)}
    for name in names[3:4]:
        scores[name][7 :: n // 20] = np.nan  # 7: of one system not all
    _fill(drawn, targets, scores, rng)
    return _results(drawn, raters, targets, scores, rng), drawn.rows


def _reports(cases: int, seed: int, rng: np.random.Generator) -> Drawn:
    criteria = RadCliQSignificanceCriteria()
    rows, counts, significant = [], [], []
    for group in synthesize(criteria, cases, per_reference=4, seed=seed):
        for place, candidate in enumerate(group.candidates):
            system = SYSTEMS[place]
            row = {"id": f"{group.id}/{place}", "group": group.id, "system": system, "reference": group.reference}
            rows.append({**row, "candidate": candidate.text})
            found = np.array([(candidate.errors or {})[tag] for tag in criteria.tags])
            counts.append(found[:6] + found[6:])
            significant.append(found[:6])
    return Drawn(rows, np.array(counts), np.array(significant), np.array([row["system"] for row in rows]))


def _scores(name: str, place: int, errors: Floats, system: NDArray[np.str_], rng: np.random.Generator) -> Floats:
    if name == "constant":
        return np.full(len(errors), 0.5)
    style = np.array([SYSTEMS.index(entry) for entry in system]) * 0.05 * place  # how a system writes sways the worse
    quality = -errors + style + rng.normal(0, 0.5 + 0.35 * place, len(errors))
    if name == "radcliq-v1":
        return 1.4 - 0.5 * quality
    return quality if name in ("reward-model", "radreason") else 1 / (1 + np.exp(-0.5 * quality - 1))


def _fill(drawn: Drawn, targets: dict[str, Floats], scores: dict[str, Floats], rng: np.random.Generator) -> None:
    """Targets, scores and what belongs to them, into the rows."""
    for index, row in enumerate(drawn.rows):
        values = {name: column[index] for name, column in scores.items()}
        row["targets"] = {name: float(column[index]) for name, column in targets.items()}
        row["scores"] = {name: None if np.isnan(value) else float(value) for name, value in values.items()}
        row["status"] = {name: "no entities in the reference" for name, value in values.items() if np.isnan(value)}
        counted = {
            name: np.maximum(0, drawn.counts[index] + rng.normal(0, 0.25 + 0.1 * place, len(TAGS)))
            for place, name in enumerate(WITH_COUNTS)
        }
        row["counts"] = {name: dict(zip(TAGS, map(float, each), strict=True)) for name, each in counted.items()}
        row["sub"] = {name: {tag: -value for tag, value in each.items()} for name, each in row["counts"].items()}
        words = row["candidate"].split()
        row["evidence"] = {
            "green": {"matched findings": 2, "explanation": f"The candidate says: {' '.join(words[:6])} …"},
            "ratescore": [{"reference": "effusion", "candidate": word, "similarity": 0.5} for word in words[:2]],
        }


def _figure(value: float, n: int, function: str) -> dict[str, float | None]:
    if np.isnan(value):
        return {"value": None, "low": None, "high": None, "p": None}
    width = (0.8 if function == "tau_b" else 1.1) * np.sqrt(1 - min(0.99, value**2)) / np.sqrt(n)
    p = 2 * norm.sf(abs(value) / max(width, 1e-9))
    return {"value": value, "low": max(-1, value - 1.96 * width), "high": min(1, value + 1.96 * width), "p": float(p)}


def _agreement(score: Floats, target: Floats) -> tuple[int, dict[str, dict[str, float | None]]]:
    known = ~np.isnan(score)
    one, other = score[known], target[known]
    constant = len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0
    found = {
        name: _figure(float("nan") if constant else float(function(one, other).statistic), len(one), name)
        for name, function in (("tau_b", kendalltau), ("spearman", spearmanr), ("pearson", pearsonr))
    }
    return len(one), found


def _results(
    drawn: Drawn,
    raters: dict[str, Floats],
    targets: dict[str, Floats],
    scores: dict[str, Floats],
    rng: np.random.Generator,
) -> dict[str, Any]:
    n, names = len(drawn.rows), list(scores)
    lower = {"radcliq-v1"}
    turned = {name: -column if name in lower else column for name, column in scores.items()}
    better = {name: column if name == "rating" else -column for name, column in targets.items()}
    agreement: list[dict[str, Any]] = []
    for name in names:
        for target in targets:
            every: dict[str, NDArray[np.bool_]] = {"pooled": np.ones(n, dtype=bool)}
            every |= {f"system:{system}": drawn.system == system for system in SYSTEMS}
            within: list[float] = []
            for scope, mask in every.items():
                count, found = _agreement(turned[name][mask], better[target][mask])
                note = "all scores are equal" if found["tau_b"]["value"] is None else None
                entry: dict[str, Any] = {"scorer": name, "target": target, "scope": scope, "n": count, "note": note}
                agreement.append({**entry, "cases": n // 4, **found})
                value = found["tau_b"]["value"]
                within.append(float("nan") if value is None else value)
            mean = float(np.mean(within[1:]))
            entry = {"scorer": name, "target": target, "scope": "within", "n": n, "note": None}
            agreement.append(
                {**entry, "cases": n // 4, **{key: _figure(mean, n, key) for key in ("tau_b", "spearman", "pearson")}}
            )
    tau = {(e["scorer"], e["target"]): e["tau_b"]["value"] for e in agreement if e["scope"] == "pooled"}
    return {
        "format": 1,
        "title": "Metrics of chest x-ray reports",
        "synthetic": True,
        "data": {
            "files": {"rated.jsonl": "6f1ed002ab5595859014ebf0951522d9" * 2},
            "pairs": n,
            "cases": n // 4,
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
        "paired": _paired(names, list(targets), tau, n),
        "between_scorers": {"names": names, "tau_b": _between(names, turned)},
        **_systems(drawn, names, scores, rng),
        "counts": _counts(drawn, names),
        "preferences": _preferences(names, rng),
        "probes": _probes(names, rng),
        "settings": {"bootstrap": 1000, "seed": 0, "versions": {"radreward": "0.1.0", "scipy": "1.17.1"}},
    }


def _title(target: str) -> str:
    known = {"errors": "Errors, all", "errors_significant": "Errors, significant", "rating": "Rating"}
    return known.get(target) or target.removeprefix("criterion:").replace("_", " ").capitalize()


def _scorer(name: str, score: Floats) -> dict[str, Any]:
    missing = int(np.isnan(score).sum())
    return {
        **{"name": name, "title": name.replace("-", " ").capitalize(), "status": "ok", "reason": None},
        **{"higher_is_better": name != "radcliq-v1", "range": [None, None] if name == "radcliq-v1" else [0, 1]},
        **{"scored": len(score) - missing, "computed": len(score), "cached": 0, "seconds": 0.01 * len(score)},
        "unscored": {"no entities in the reference": missing} if missing else {},
        "sub_names": list(TAGS) if name in WITH_COUNTS else [],
    }


def _failed(n: int) -> dict[str, Any]:
    return {
        **{"name": "perplexity", "title": "Perplexity", "status": "failed", "reason": "returned 3 scores for 4 pairs"},
        **{"higher_is_better": False, "range": [0, None], "scored": 0, "computed": 0, "cached": 0, "seconds": 0.2},
        **{"unscored": {"returned 3 scores for 4 pairs": n}, "sub_names": []},
    }


def _raters(raters: dict[str, Floats]) -> list[dict[str, Any]]:
    found: list[tuple[str, str, str | None, Floats, Floats]] = []
    for name, own in raters.items():
        rest = np.mean([column for other, column in raters.items() if other != name], axis=0)
        found.append(("against_others", name, None, own, rest))
    found += [("pairwise", one, other, raters[one], raters[other]) for one, other in combinations(raters, 2)]
    return [
        {
            **{"target": "errors", "kind": kind, "rater": one, "other": other, "n": len(own)},
            **{key: figure["value"] for key, figure in _agreement(own, rest)[1].items()},
        }
        for kind, one, other, own, rest in found
    ]


def _paired(
    names: Sequence[str], targets: Sequence[str], tau: dict[tuple[str, str], float | None], n: int
) -> list[dict[str, Any]]:
    found = []
    for target in targets:
        for one, other in combinations(names, 2):
            first, second = tau[one, target], tau[other, target]
            entry: dict[str, Any] = {"target": target, "one": one, "other": other}
            if first is None or second is None:
                keys = ("difference", "low", "high", "p_bootstrap", "p_randomised", "p_holm")
                found.append({**entry, **dict.fromkeys(keys)})
                continue
            gap, width = first - second, 1 / np.sqrt(n)
            p = float(2 * norm.sf(abs(gap) / width))
            found.append(
                {
                    **entry,
                    **{"difference": gap, "low": gap - 1.96 * width, "high": gap + 1.96 * width},
                    **{"p_bootstrap": p, "p_randomised": p, "p_holm": min(1.0, 20 * p)},
                }
            )
    return found


def _between(names: Sequence[str], scores: dict[str, Floats]) -> list[list[float | None]]:
    matrix: list[list[float | None]] = [[1.0 if one == other else None for other in names] for one in names]
    for (i, one), (j, other) in combinations(enumerate(names), 2):
        known = ~np.isnan(scores[one])
        matrix[i][j] = matrix[j][i] = _agreement(scores[other][known], scores[one][known])[1]["tau_b"]["value"]
    return matrix


def _systems(
    drawn: Drawn, names: Sequence[str], scores: dict[str, Floats], rng: np.random.Generator
) -> dict[str, list[dict[str, Any]]]:
    means, pairs, ranks = [], [], []
    for name in names:
        known = {system: scores[name][(drawn.system == system) & ~np.isnan(scores[name])] for system in SYSTEMS}
        for system, values in known.items():
            mean, half = float(values.mean()), float(1.96 * values.std() / np.sqrt(len(values)))
            means.append({"scorer": name, "system": system, "n": len(values), "mean": mean})
            means[-1] |= {"low": mean - half, "high": mean + half}
        for one, other in combinations(SYSTEMS, 2):
            gap = float(known[one].mean() - known[other].mean())
            half = float(1.96 * scores[name][~np.isnan(scores[name])].std() * np.sqrt(2 / len(known[one])))
            p = float(2 * norm.sf(1.96 * abs(gap) / half)) if half else None
            pairs.append({"scorer": name, "one": one, "other": other, "difference": gap, "p": p})
            pairs[-1] |= {"low": gap - half, "high": gap + half, "p_holm": None if p is None else min(1.0, 6 * p)}
        tau = None if name == "constant" else float(rng.choice([1, 2 / 3, 1 / 3]))
        ranks.append({"scorer": name, "target": "errors", "tau_b": tau, "n": len(SYSTEMS)})
    return {"systems": means, "system_pairs": pairs, "system_ranks": ranks}


def _counts(drawn: Drawn, names: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for name in (name for name in WITH_COUNTS if name in names):
        for place, tag in enumerate(TAGS):
            predicted = np.array([row["counts"][name][tag] for row in drawn.rows])
            true = drawn.counts[:, place]
            bins = [part for part in np.array_split(np.argsort(predicted), 6) if len(part)]
            found.append(
                {
                    **{"scorer": name, "criterion": tag, "n": len(true)},
                    **{"mae": float(np.abs(predicted - true).mean()), "sd": float(np.abs(predicted - true).std())},
                    "accuracy": float((predicted.round() == true).mean()),
                    "calibration": [[float(predicted[b].mean()), float(true[b].mean()), len(b)] for b in bins],
                }
            )
    return found


def _preferences(names: Sequence[str], rng: np.random.Generator) -> list[dict[str, Any]]:
    found = []
    for place, name in enumerate(names):
        for step, confidence in enumerate(([1, 4], [5, 7], [8, 10], "all")):
            n = 180 if confidence == "all" else 60
            value = 0.5 if name == "constant" else 0.88 - 0.018 * place + 0.03 * (step % 3 - 1) + rng.normal(0, 0.01)
            half = 1.96 * np.sqrt(value * (1 - value) / n)
            found.append({"scorer": name, "confidence": confidence, "n": n, "accuracy": float(value)})
            found[-1] |= {"low": float(value - half), "high": float(value + half)}
    return found


def _probes(names: Sequence[str], rng: np.random.Generator) -> list[dict[str, Any]]:
    found = []
    for place, name in enumerate(names):
        for probe, kind in PROBES.items():
            score = float(np.clip(1 - 0.04 * place + rng.normal(0, 0.1), 0, 1))
            slope = -0.6 * score if kind == "falls" else -0.3 * (1 - score)
            doses = [[dose, float(slope * dose + rng.normal(0, 0.04))] for dose in (1, 2, 3, 4)]
            found.append({"scorer": name, "probe": probe, "kind": kind, "score": score, "n": 200, "doses": doses})
            found[-1]["note"] = "scores do not change" if name == "constant" else None
    return found
