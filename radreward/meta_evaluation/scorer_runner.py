"""One scorer over many pairs: in chunks, remembered, and told why where it fails."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.meta_evaluation.score_cache import CachedScore, ScoreCache, pair_key
from radreward.scorers.base import SCORED_STATUSES, Scorer
from radreward.types import Scores

Floats = NDArray[np.float64]
SIGNIFICANT_PREFIX, INSIGNIFICANT_PREFIX = "significant_", "insignificant_"
"""How the tags of errors begin that are counted apart by what they mean for the patient."""
CHUNK_SIZE = 128
"""Pairs that are scored together: no more than these are lost when a run is killed."""


class ScorerRun(NamedTuple):
    """What became of a scorer."""

    name: str
    title: str
    higher_is_better: bool
    total_range: tuple[float | None, float | None]
    sub_names: tuple[str, ...]
    criteria: tuple[str, ...]
    """Of its error counts."""
    totals: Floats
    """(n,) in the scorer's own direction; NaN where there is no score."""
    error_counts: Floats | None
    """(n, N) errors that it counts."""
    sub_scores: Floats | None
    """(n, M) its sub-scores, higher is better."""
    unscored_reasons: dict[str, int]
    """Why pairs have no score, and how many."""
    num_computed: int
    num_cached: int
    seconds: float
    cache: ScoreCache | None
    """Everything that it said."""
    failure: str | None = None
    """Why it failed."""

    @property
    def higher_is_better_totals(self) -> Floats:
        """(n,) higher is better."""
        return self.totals if self.higher_is_better else -self.totals

    def criterion_errors(self, tag: str, significant_only: bool = False) -> Floats | None:
        """(n,) errors that it counts by a criterion: all, or the significant ones; None where it does not count them.

        All are those of the criterion, or the significant and the insignificant ones together.
        """
        wanted = (
            (SIGNIFICANT_PREFIX + tag,)
            if significant_only
            else (tag, SIGNIFICANT_PREFIX + tag, INSIGNIFICANT_PREFIX + tag)
        )
        places = [place for place, name in enumerate(self.criteria) if name in wanted]
        return self.error_counts[:, places].sum(1) if self.error_counts is not None and places else None

    def criterion_scores(self, tag: str) -> Floats | None:
        """(n,) what it says of a criterion, higher is better: its sub-score, or else its errors; None for nothing."""
        if self.sub_scores is not None and tag in self.sub_names:
            return self.sub_scores[:, self.sub_names.index(tag)]
        counted = self.criterion_errors(tag)
        return None if counted is None else -counted


def score_pairs(
    name: str,
    load: Callable[[], Scorer],
    pairs: Sequence[tuple[str, str]],
    cache_dir: Path,
    on_advance: Callable[[int], None] = lambda pairs: None,
    chunk_size: int = CHUNK_SIZE,
) -> ScorerRun:
    """Scores of pairs; whatever goes wrong with the scorer is told as its reason, with what it had scored before.

    Args:
        name: What the scorer is called.
        load: Makes it.
        texts: Reference and candidate of each pair.
        folder: Where scores are remembered, in a file of this name and of the scorer's fingerprint.
        advance: Called with how many pairs are done.
        chunk: Pairs that are scored together. Chunks begin at the same pairs in every run, so that a run that is
            continued gives the same scores.

    Raises:
        InputError: If scores cannot be remembered there.
    """
    start = time.monotonic()
    scorer, scores, reason, computed = None, None, None, 0
    keys = [pair_key(*pair) for pair in pairs]
    try:
        scorer = load().fit_references(reference for reference, _ in pairs)
        fingerprint = scorer.fingerprint()
    except Exception as error:  # a scorer may be anybody's code: the others go on, and this one says why it did not
        reason = one_line_error(error)
    else:
        scores = ScoreCache(cache_dir / f"{_file_name(name)}.{fingerprint[:12]}.jsonl")
        before = len(keys)
        known = [key in scores for key in keys]
        computed = before - sum(known)
        try:
            for begin in range(0, len(keys), chunk_size):
                part = range(begin, min(begin + chunk_size, len(keys)))
                new = {keys[place]: pairs[place] for place in part if keys[place] not in scores}
                if new:
                    scores.put(zip(new, _score_chunk(scorer, list(new.values())), strict=True))
                on_advance(len(part))
        except Exception as error:  # likewise
            reason = one_line_error(error)
            computed = sum(scores.get(key) is not None for key in keys) - sum(known)
    tags = scorer.criteria.tags if scorer is not None and scorer.criteria else ()
    names = tuple(scorer.sub_names) if scorer is not None else ()
    totals, counts, subs = (np.full((len(keys), *shape), np.nan) for shape in ((), (len(tags),), (len(names),)))
    unscored: Counter[str] = Counter()
    for place, key in enumerate(keys):
        found = scores.get(key) if scores else None
        if found is None:
            unscored["not scored, because the scorer failed"] += 1
        elif found.status not in SCORED_STATUSES or found.total is None:
            unscored[found.status] += 1
        else:
            totals[place] = found.total
            for into, values in ((counts, found.error_counts), (subs, found.sub_scores)):
                if values is not None:
                    into[place] = [math.nan if value is None else value for value in values]
    return ScorerRun(
        name,
        getattr(scorer, "title", "") or name,
        getattr(scorer, "higher_is_better", True),
        getattr(scorer, "range", (None, None)),
        names,
        tags,
        totals,
        None if np.isnan(counts).all() else counts,
        None if np.isnan(subs).all() else subs,
        dict(unscored),
        computed,
        len(keys) - computed if scores else 0,
        time.monotonic() - start,
        scores,
        reason,
    )


def one_line_error(error: Exception) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) and text.startswith("Expected") else f"{type(error).__name__}: {text}"


def _score_chunk(scorer: Scorer, pairs: Sequence[tuple[str, str]]) -> list[CachedScore]:
    found: Scores = scorer.score([reference for reference, _ in pairs], [candidate for _, candidate in pairs])
    for what, value in (("totals", found.total), ("statuses", found.status)):
        if len(value) != len(pairs):
            raise ValueError(f"Expected {len(pairs)} {what}, one for each pair, but got {len(value)}.")
    totals = found.total.double().tolist()
    rows = []
    for place, status in enumerate(found.status):
        total: float | None = totals[place]
        if not math.isfinite(totals[place]):
            total = None
            status = f"expected a finite score but got {totals[place]}" if status in SCORED_STATUSES else status
        sub, counts = (
            None if part is None else _finite_or_none(part[place].tolist())
            for part in (found.sub_scores, found.error_counts)
        )
        evidence = None if found.evidence is None else to_jsonable(found.evidence[place])
        rows.append(CachedScore(total, status, sub, counts, evidence))
    return rows


def _finite_or_none(values: list[float]) -> list[float | None] | None:
    known = [value if math.isfinite(value) else None for value in values]
    return None if all(value is None for value in known) else known


def to_jsonable(value: Any) -> Any:
    """Evidence as JSON has it: named tuples as mappings, numbers that are not finite as null, the rest as text."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): to_jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_jsonable(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "scorer"
