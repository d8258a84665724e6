"""Scorers against people: every scorer over every rated pair, and what the scores are worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from radreward.data.records import fingerprint
from radreward.evaluation.progress import BenchProgress
from radreward.evaluation.rated import RatedPairs
from radreward.evaluation.scored import Scored, score_pairs
from radreward.evaluation.statistics import NAMES, Agreement, Estimate, agreements
from radreward.scorers.base import Scorer

FORMAT = 1


class Bench:
    """What came out: figures, and everything that scorers said.

    Args:
        pairs: The rated pairs.
        scored: What became of each scorer.
        draws: Draws of cases for intervals and tests.
        seed: Of the draws.
        files: Where the pairs come from, with their sha256.
    """

    def __init__(
        self,
        pairs: RatedPairs,
        scored: list[Scored],
        draws: int = 1000,
        seed: int = 0,
        files: Mapping[str, str] | None = None,
    ) -> None:
        self.pairs, self.scored, self.draws, self.seed, self.files = pairs, scored, draws, seed, dict(files or {})
        self.good = [one for one in scored if one.reason is None]
        self.agreement = self._agreement()

    def _agreement(self) -> list[dict[str, Any]]:
        if not self.good or not self.pairs.targets:
            return []
        x = np.stack([one.oriented for one in self.good])
        y = np.stack([(1 if t.higher_is_better else -1) * t.values for t in self.pairs.targets])
        found = agreements(x, y, self.pairs.cases, self.draws, self.seed)
        return [
            {"scorer": one.name, "target": target.name, "scope": "pooled", **_told(value)}
            for one, row in zip(self.good, found, strict=True)
            for target, value in zip(self.pairs.targets, row, strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """All figures, as results.json has them."""
        pairs = self.pairs
        return {
            "format": FORMAT,
            "title": f"{len(self.scored)} scorers, {len(pairs)} rated pairs",
            "synthetic": any(row.synthetic for row in pairs.rows),
            "data": {
                "files": self.files,
                "pairs": len(pairs),
                "cases": len(set(pairs.cases.tolist())),
                "systems": list(pairs.systems),
                "raters": list(pairs.raters),
                "notes": list(pairs.notes),
            },
            "targets": [
                {
                    "name": target.name,
                    "title": target.title,
                    "higher_is_better": target.higher_is_better,
                    "pairs": int((~np.isnan(target.values)).sum()),
                    "notes": list(target.notes),
                }
                for target in pairs.targets
            ],
            "scorers": [_scorer(one) for one in self.scored],
            "agreement": self.agreement,
            "settings": {
                "bootstrap": self.draws,
                "seed": self.seed,
                "versions": {name: version(name) for name in ("radreward", "numpy", "scipy", "torch")},
            },
        }


def benchmark(
    pairs: RatedPairs,
    scorers: Mapping[str, Callable[[], Scorer]],
    folder: Path,
    draws: int = 1000,
    seed: int = 0,
    source: Path | None = None,
    progress: BenchProgress | None = None,
) -> Bench:
    """Run scorers over rated pairs; see `Bench`.

    Args:
        pairs: What people made of the candidates.
        scorers: What makes each scorer, by its name; they are made one after the other.
        folder: For what is written: `results.json`, `rows.jsonl`, and `scores` with everything that was scored.
        draws: Draws of cases for intervals and tests.
        seed: Of the draws.
        source: The file of the pairs, for its sha256.
        progress: Is told how far it is.
    """
    texts = [(row.reference, row.candidate) for row in pairs.rows]
    scored = []
    for name, load in scorers.items():
        if progress:
            progress.begin(name)
        advance = partial(progress.advance, name) if progress else lambda pairs: None
        scored.append(score_pairs(name, load, texts, folder / "scores", advance))
    return Bench(pairs, scored, draws, seed, {str(source): fingerprint(source)} if source else None)


def _scorer(one: Scored) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "higher_is_better": one.higher_is_better,
        "range": list(one.range),
        "status": "ok" if one.reason is None else "failed",
        "reason": one.reason,
        "scored": int((~np.isnan(one.totals)).sum()),
        "unscored": one.unscored,
        "computed": one.computed,
        "cached": one.cached,
        "seconds": one.seconds,
        "sub_names": list(one.sub_names),
    }


def _told(found: Agreement) -> dict[str, Any]:
    return {
        "n": found.n,
        "cases": found.cases,
        **{name: _estimate(getattr(found, name)) for name in NAMES},
        "note": found.note,
    }


def _estimate(value: Estimate) -> dict[str, float | None]:
    return {name: number(part) for name, part in value._asdict().items()}


def number(value: float) -> float | None:
    """A number as JSON has it."""
    return float(value) if math.isfinite(value) else None
