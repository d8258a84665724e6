"""Intervals of τ-b, ρ and r over cases that are drawn anew: all at once against scipy in a loop.

The loop takes the rows of each draw and calls scipy's kendalltau, spearmanr and pearsonr for every scorer and target;
it is run on a few scorers and targets, of 10,000 pairs on a few draws, and counted up, since all of them would take
minutes. Both are measured in CPU time in one process and must give the same correlations in every draw.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import stats

from radreward.meta_evaluation.statistics.scorer_comparisons import compare_scorers
from radreward.statistics.cluster_bootstrap import bootstrap_correlations, percentile_interval, resample_clusters

Floats = NDArray[np.float64]
TARGET = 10.0
"""Seconds for the first case."""


class Case(NamedTuple):
    """So many scorers, targets and cases."""

    scorers: int = 20
    targets: int = 8
    cases: int = 200
    per_case: int = 1
    draws: int = 1000
    loop: int = 2
    """Correlations that the loop computes."""
    loop_draws: int | None = None
    """Draws that it goes through, where all of them would take minutes."""


CASES = (
    Case(),
    Case(cases=50, per_case=4),
    Case(per_case=4),
    Case(cases=2500, per_case=4, scorers=5, targets=2, loop=1, loop_draws=20),
)


def data(case: Case, seed: int = 0) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Error counts with ties, and scores that follow them more or less."""
    rng = np.random.default_rng(seed)
    rows = case.cases * case.per_case
    targets = rng.poisson(2.0, (case.targets, rows)).astype(np.float64)
    scores = targets.mean(0) + rng.normal(size=(case.scorers, rows))
    return scores, targets, np.repeat(np.arange(case.cases), case.per_case)


def by_scipy(x: Floats, y: Floats, case: NDArray[np.int64], counts: NDArray[np.integer]) -> Floats:
    """(B, 3) correlations of one scorer and target in every draw."""
    found = []
    for draw in counts:
        rows = np.repeat(np.arange(len(case)), draw[case])
        found.append([test(x[rows], y[rows]).statistic for test in (stats.kendalltau, stats.spearmanr, stats.pearsonr)])
    return np.array(found)


def measure(case: Case) -> dict[str, Any]:
    """Seconds of both, and of the paired tests; what is printed as a line of JSON."""
    x, y, of_case = data(case)
    counts = resample_clusters(case.cases, case.draws, 0)
    start = time.process_time()
    ours = bootstrap_correlations(x, y, of_case, counts)
    for value in ours:
        percentile_interval(value)
    seconds = time.process_time() - start
    start = time.process_time()
    for place in range(case.loop):
        one, other = place % case.scorers, place % case.targets
        told = by_scipy(x[one], y[other], of_case, counts[: case.loop_draws])
        for found, value in zip(told.T, ours, strict=True):
            np.testing.assert_allclose(value[: case.loop_draws, one, other], found, rtol=0, atol=1e-12)
    loop = (time.process_time() - start) / case.loop * case.scorers * case.targets
    loop *= case.draws / (case.loop_draws or case.draws)
    start = time.process_time()
    met = len(compare_scorers(x, y[:1], of_case, counts))
    return {
        "case": case._asdict(),
        "seconds": seconds,
        "loop_seconds": loop,
        "ratio": loop / seconds,
        "contests": met,
        "contest_seconds": time.process_time() - start,
    }


def main(cases: Sequence[Case] = CASES) -> None:
    """Measure and print."""
    heads = ("scorers", "targets", "cases", "pairs", "draws", "s", "loop, s", "ratio", "paired tests", "s")
    printed = Table(*heads, title="Intervals over cases drawn anew, CPU time")
    for number, case in enumerate(cases):
        found = measure(case)
        sizes = (case.scorers, case.targets, case.cases, case.cases * case.per_case, case.draws)
        figures = (f"{found['seconds']:.2f}", f"{found['loop_seconds']:.0f}", f"{found['ratio']:.0f}")
        printed.add_row(*map(str, sizes), *figures, str(found["contests"]), f"{found['contest_seconds']:.2f}")
        print(json.dumps(found), flush=True)
        if number == 0:
            print(f"target {TARGET:g} s: {'met' if found['seconds'] < TARGET else 'MISSED'}")
    Console(width=110).print(printed)


if __name__ == "__main__":
    main()
