"""Synthetic results and rows of a benchmark of metrics: generated reports, scorers of given noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._page_sections import SYSTEMS, TAGS, WITH_COUNTS, Floats, SampledPairs, build_results
from radreward.criteria import RadCliQSignificanceCriteria
from radreward.synthesis import synthesize

NAMES = (
    *("reward-model", "radreason", "green", "radcliq-v1", "ratescore", "radgraph-f1", "bertscore", "sentences"),
    *("observations-f1", "entity-overlap", "chexbert", "meteor", "chrf", "rouge-l", "cider", "rouge-2", "bleu-2"),
    *("bleu-4", "length", "constant"),
)
"""Scorers in order of increasing noise; all scores of the last are equal."""


def fake_results(cases: int = 500, scorers: int = 20, seed: int = 0) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return results and rows of four candidates per case; one scorer failed, and one could not score some pairs.

    Args:
        cases: Number of cases.
        scorers: Number of scorers that did not fail, from 4 to 20.
        seed: Determines all values.
    """
    rng = np.random.default_rng(seed)
    sampled = _reports(cases, seed, rng)
    n, errors = len(sampled.rows), sampled.counts.sum(axis=1)
    raters = {f"rater {k}": np.maximum(0, errors + rng.normal(0, 0.6, n)).round() for k in (1, 2, 3)}
    targets = {
        "errors": np.mean(list(raters.values()), axis=0),
        "errors_significant": sampled.significant.sum(axis=1),
        "rating": np.clip(5 - 0.7 * errors + rng.normal(0, 0.7, n), 1, 5).round(2),
        **{f"criterion:{tag}": sampled.counts[:, index] for index, tag in enumerate(TAGS)},
    }
    names = [*NAMES[: scorers - 1], NAMES[-1]]
    scores = {name: _scores(name, rank, errors, sampled.system, rng) for rank, name in enumerate(names)}
    for name in names[3:4]:
        scores[name][7 :: n // 20] = np.nan  # leaves every system with scored pairs
    _fill(sampled, targets, scores, rng)
    return build_results(sampled, raters, targets, scores, rng), sampled.rows


def _reports(cases: int, seed: int, rng: np.random.Generator) -> SampledPairs:
    criteria = RadCliQSignificanceCriteria()
    rows, counts, significant = [], [], []
    for group in synthesize(criteria, cases, per_reference=4, seed=seed):
        for index, candidate in enumerate(group.candidates):
            system = SYSTEMS[index]
            row = {"id": f"{group.id}/{index}", "group": group.id, "system": system, "reference": group.reference}
            rows.append({**row, "candidate": candidate.text})
            errors = np.array([(candidate.errors or {})[tag] for tag in criteria.tags])
            counts.append(errors[:6] + errors[6:])
            significant.append(errors[:6])
    return SampledPairs(rows, np.array(counts), np.array(significant), np.array([row["system"] for row in rows]))


def _scores(name: str, rank: int, errors: Floats, system: NDArray[np.str_], rng: np.random.Generator) -> Floats:
    if name == "constant":
        return np.full(len(errors), 0.5)
    # The noisier a scorer, the more it depends on the style of a system.
    style = np.array([SYSTEMS.index(entry) for entry in system]) * 0.05 * rank
    quality = -errors + style + rng.normal(0, 0.5 + 0.35 * rank, len(errors))
    if name == "radcliq-v1":
        return 1.4 - 0.5 * quality
    return quality if name in ("reward-model", "radreason") else 1 / (1 + np.exp(-0.5 * quality - 1))


def _fill(
    sampled: SampledPairs, targets: dict[str, Floats], scores: dict[str, Floats], rng: np.random.Generator
) -> None:
    """Add targets, scores and evidence to the rows."""
    for index, row in enumerate(sampled.rows):
        values = {name: column[index] for name, column in scores.items()}
        row["targets"] = {name: float(column[index]) for name, column in targets.items()}
        row["scores"] = {name: None if np.isnan(value) else float(value) for name, value in values.items()}
        row["status"] = {name: "no entities in the reference" for name, value in values.items() if np.isnan(value)}
        counted = {
            name: np.maximum(0, sampled.counts[index] + rng.normal(0, 0.25 + 0.1 * rank, len(TAGS)))
            for rank, name in enumerate(WITH_COUNTS)
        }
        row["error_counts"] = {name: dict(zip(TAGS, map(float, each), strict=True)) for name, each in counted.items()}
        row["sub_scores"] = {
            name: {tag: -value for tag, value in each.items()} for name, each in row["error_counts"].items()
        }
        words = row["candidate"].split()
        row["evidence"] = {
            "green": {"matched findings": 2, "explanation": f"The candidate says: {' '.join(words[:6])} …"},
            "ratescore": [{"reference": "effusion", "candidate": word, "similarity": 0.5} for word in words[:2]],
        }
