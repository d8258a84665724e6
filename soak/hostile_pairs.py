"""Hostile pairs through every offline scorer: no exception, a finite score or a status, and the same in any order."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from random import Random

import torch

from experiments.compare_metrics import METRICS
from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.status import SCORED_STATUSES
from radreward.testing import hostile_report
from soak import Outcome

TOTAL_PAIRS = 100_000
BATCH_SIZE = 50
REPEAT_INTERVAL = 10
"""One batch in so many is scored again in another order and form."""
TOLERANCE = 1e-4
"""Allowed difference of scores between calls, as batching changes the rounding."""
Pair = tuple[str, str]


def run(scale: float) -> Iterator[Outcome]:
    """Yield one outcome per scorer; all scorers together get `TOTAL_PAIRS` at scale 1."""
    num_batches = max(1, round(scale * TOTAL_PAIRS / len(METRICS) / BATCH_SIZE))
    for name in METRICS:
        scorer, rng = load(name), Random(name)
        survived, slowest, note, start = 0, 0.0, "", time.process_time()
        for number in range(num_batches):
            pairs = [_hostile_pair(rng) for _ in range(BATCH_SIZE)]
            fitted = scorer.fit_references([reference for reference, _ in pairs])
            before = time.process_time()
            failures = [_failure(fitted, pairs, is_repeated=number % REPEAT_INTERVAL == 0)]
            if failures[0]:  # count the pairs that fail
                failures = [failure for pair in pairs if (failure := _failure(fitted, [pair]))] or failures
            slowest = max(slowest, time.process_time() - before)
            survived += BATCH_SIZE - len(list(filter(None, failures)))
            note = note or failures[0]
        seconds = time.process_time() - start
        note = note or f"{seconds:.0f} s of processor time, {slowest:.1f} s for the slowest {BATCH_SIZE} pairs"
        yield Outcome(f"hostile pairs, {name}", num_batches * BATCH_SIZE, survived, note)


def _hostile_pair(rng: Random) -> Pair:
    """Return two hostile reports; one in ten is its own reference."""
    reference = hostile_report(rng)
    return reference, reference if rng.random() < 0.1 else hostile_report(rng)


def _failure(scorer: Scorer, pairs: Sequence[Pair], is_repeated: bool = True) -> str:
    """Return the first thing that is wrong with the scores of some pairs; empty if nothing is.

    `is_repeated` scores them again: in reverse order, each twice, with other white space; and the first one alone.
    """
    try:
        scores = scorer.score(*zip(*pairs, strict=True))
        again = [(f" {reference}", f"{candidate}\u00a0\n") for reference, candidate in pairs[::-1] for _ in range(2)]
        repeated = scorer.score(*zip(*again, strict=True)) if is_repeated else None
        parts = [scorer.score(*zip(*part, strict=True)) for part in (pairs[:1], pairs[1:]) if part and is_repeated]
    except Exception as error:  # whatever goes wrong is counted
        return f"{type(error).__name__}: {error} for {pairs[0]!r}"[:200]
    low, high = scorer.total_range
    for total, status, pair in zip(scores.total.tolist(), scores.status, pairs, strict=True):
        in_range = (low is None or total >= low - TOLERANCE) and (high is None or total <= high + TOLERANCE)
        if math.isfinite(total) != (status in SCORED_STATUSES) or not (in_range or math.isnan(total)):
            return f"score {total} with status {status!r} for {pair!r}"[:200]
    if repeated is None:
        return ""
    results = [(repeated.total[copy::2].flip(0), repeated.status[copy::2][::-1]) for copy in (0, 1)]
    results.append((torch.cat([part.total for part in parts]), sum((part.status for part in parts), ())))
    for totals, statuses in results:
        close = torch.isclose(totals, scores.total, TOLERANCE, TOLERANCE, equal_nan=True).tolist()
        for pair, is_close, first, second in zip(pairs, close, scores.status, statuses, strict=True):
            if not is_close or first != second:
                return f"another score in another order, form or batch, {second!r} after {first!r}, for {pair!r}"[:200]
    return ""
