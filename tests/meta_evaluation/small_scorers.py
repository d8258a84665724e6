"""Small scorers, correct and failing, and generated rated pairs for tests of the benchmark."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from radreward.criteria import Criteria
from radreward.meta_evaluation.benchmark import BenchmarkResult, BenchmarkSettings, run_benchmark
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, RatedPair, RatedPairs
from radreward.scorers.base import Scorer
from radreward.scorers.status import STATUS_OK
from radreward.types import Scores

WORDS = ["lamp", "kettle", "stair", "window", "carpet", "drawer", "button"]


class Overlap(Scorer):
    """Share of the reference's words that occur in the candidate."""

    def __init__(self, higher: bool = True) -> None:
        self.higher_is_better = higher
        self.scored = 0

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        self.scored += len(references)
        shares = [
            len(set(a.split()) & set(b.split())) / len(a.split()) for a, b in zip(references, candidates, strict=True)
        ]
        total = torch.tensor(shares, dtype=torch.float32)
        return Scores(total if self.higher_is_better else 1 - total, None, None, (STATUS_OK,) * len(references))

    def fingerprint(self) -> str:
        return f"{type(self).__name__} {self.higher_is_better}"

    def save_pretrained(self, folder: str | Path) -> None:
        raise NotImplementedError


class Counting(Overlap):
    """Counter of missing words, half of them insignificant; returns the words as evidence."""

    criteria = Criteria(
        "two",
        [
            {"name": "significant omission", "description": "Missing."},
            {"name": "insignificant omission", "description": "Missing."},
        ],
    )

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        pairs = list(zip(references, candidates, strict=True))
        missing = torch.tensor([[len(set(a.split()) - set(b.split())) / 2] * 2 for a, b in pairs]).reshape(-1, 2)
        evidence = tuple({"words": a.split(), "share": math.nan} for a, _ in pairs)
        return Scores(-missing.sum(1), -missing, missing, (STATUS_OK,) * len(pairs), evidence)


class Fractional(Counting):
    """The same counter, whose counts differ by a fraction that depends on the candidate."""

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super()._score_valid(references, candidates)
        fractions = torch.tensor([sum(map(ord, text)) % 31 / 100 for text in candidates]).unsqueeze(1)
        return scores._replace(error_counts=None if scores.error_counts is None else scores.error_counts + fractions)


class WithQuality(Counting):
    """The same counter, with the share of the words as quality."""

    has_quality = True

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        quality = Overlap._score_valid(self, references, candidates).total
        return super()._score_valid(references, candidates)._replace(quality=quality)


class Raising(Overlap):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        if self.scored:
            raise RuntimeError("out of\nmemory")
        return super()._score_valid(references, candidates)


class TooFew(Overlap):
    def score(self, references: Iterable[str], candidates: Iterable[str], contexts: Any = None) -> Scores:
        return super().score(list(references)[1:], list(candidates)[1:])


class Infinite(Overlap):
    def score(self, references: Iterable[str], candidates: Iterable[str], contexts: Any = None) -> Scores:
        scores = super().score(references, candidates)
        scores.total[0], scores.total[1] = math.inf, math.nan
        return scores


class Constant(Overlap):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        return Scores(torch.ones(len(references)), None, None, (STATUS_OK,) * len(references))


def make_pairs(cases: int = 10, seed: int = 0) -> RatedPairs:
    """Return candidates of two systems that omit words of their reference, counted by three raters."""
    rng = np.random.default_rng(seed)
    rows = []
    for case in range(cases):
        reference = " ".join(rng.permutation(WORDS))
        for system, max_omitted in (("good", 3), ("bad", 6)):
            words = rng.permutation(WORDS)[int(rng.integers(0, max_omitted)) :]
            missing = 7 - len(words)
            errors = {f"r{rater}": {"omission": max(0.0, missing + float(rng.integers(-1, 2)))} for rater in range(3)}
            rows.append(
                RatedPair(
                    id=f"{case}/{system}",
                    reference=reference,
                    candidate=" ".join(words),
                    group=f"c{case}",
                    system=system,
                    ratings={MEAN_RATER: 5.0 - missing},
                    errors=errors,
                    significant_errors={rater: {"omission": e["omission"] / 2} for rater, e in errors.items()},
                )
            )
    return RatedPairs(rows)


def run(folder: Path, pairs: RatedPairs | None = None, n_resamples: int = 50, **scorers: Scorer) -> BenchmarkResult:
    factories = {name: (lambda scorer=scorer: scorer) for name, scorer in scorers.items()}
    return run_benchmark(pairs or make_pairs(), factories, folder, BenchmarkSettings(n_resamples, 0, 99))


def only(rows: Any, **fields: Any) -> dict[str, Any]:
    """Return the only row with these values."""
    matches: list[dict[str, Any]] = [row for row in rows if all(row[key] == value for key, value in fields.items())]
    assert len(matches) == 1
    return matches[0]
