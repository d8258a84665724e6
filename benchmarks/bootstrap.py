"""Cluster bootstrap intervals of τ-b, ρ and r: vectorized against scipy in a loop.

The loop calls scipy's kendalltau, spearmanr and pearsonr on the rows of each bootstrap sample, for a few scorers and
targets (and few samples of 10,000 pairs), and is extrapolated, because all of them would take minutes. Both are
measured in CPU time in one process and must give the same correlations in every sample.
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

from benchmarks._figures import Figure
from radreward.meta_evaluation.statistics.scorer_comparisons import compare_scorers
from radreward.statistics.cluster_bootstrap import bootstrap_correlations, percentile_interval, resample_clusters

Floats = NDArray[np.float64]
TARGET = 10.0
"""Seconds of the first case."""


class Case(NamedTuple):
    """Numbers of scorers, targets, cases and bootstrap samples."""

    scorers: int = 20
    targets: int = 8
    cases: int = 200
    per_case: int = 1
    n_resamples: int = 1000
    loop_correlations: int = 2
    """Correlations that the loop computes."""
    loop_resamples: int | None = None
    """Bootstrap samples of the loop; None for all."""


CASES = (
    Case(),
    Case(cases=50, per_case=4),
    Case(per_case=4),
    Case(cases=2500, per_case=4, scorers=5, targets=2, loop_correlations=1, loop_resamples=20),
)


def random_data(case: Case, seed: int = 0) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return scores, correlated error counts with ties, and the case of each row."""
    rng = np.random.default_rng(seed)
    rows = case.cases * case.per_case
    targets = rng.poisson(2.0, (case.targets, rows)).astype(np.float64)
    scores = targets.mean(0) + rng.normal(size=(case.scorers, rows))
    return scores, targets, np.repeat(np.arange(case.cases), case.per_case)


def scipy_correlations(x: Floats, y: Floats, case: NDArray[np.int64], counts: NDArray[np.integer]) -> Floats:
    """Return (B, 3) correlations of one scorer and target in every bootstrap sample."""
    correlations = []
    for sample in counts:
        rows = np.repeat(np.arange(len(case)), sample[case])
        tests = (stats.kendalltau, stats.spearmanr, stats.pearsonr)
        correlations.append([test(x[rows], y[rows]).statistic for test in tests])
    return np.array(correlations)


def measure(case: Case) -> dict[str, Any]:
    """Time both, and the paired tests; return the results that are printed as JSON."""
    x, y, case_index = random_data(case)
    counts = resample_clusters(case.cases, case.n_resamples, 0)
    start = time.process_time()
    bootstrapped = bootstrap_correlations(x, y, case_index, counts)
    for values in bootstrapped:
        percentile_interval(values)
    seconds = time.process_time() - start
    start = time.process_time()
    for index in range(case.loop_correlations):
        scorer, target = index % case.scorers, index % case.targets
        expected = scipy_correlations(x[scorer], y[target], case_index, counts[: case.loop_resamples])
        for column, values in zip(expected.T, bootstrapped, strict=True):
            np.testing.assert_allclose(values[: case.loop_resamples, scorer, target], column, rtol=0, atol=1e-12)
    loop = (time.process_time() - start) / case.loop_correlations * case.scorers * case.targets
    loop *= case.n_resamples / (case.loop_resamples or case.n_resamples)
    start = time.process_time()
    comparisons = len(compare_scorers(x, y[:1], case_index, counts))
    return {
        "case": case._asdict(),
        "seconds": seconds,
        "loop_seconds": loop,
        "ratio": loop / seconds,
        "comparisons": comparisons,
        "comparison_seconds": time.process_time() - start,
    }


def main(cases: Sequence[Case] = CASES) -> list[Figure]:
    """Run and print the benchmark."""
    measured = []
    columns = ("scorers", "targets", "cases", "pairs", "samples", "s", "loop, s", "ratio", "paired tests", "s")
    table = Table(*columns, title="Cluster bootstrap intervals, CPU time")
    for case in cases:
        result = measure(case)
        sizes = (case.scorers, case.targets, case.cases, case.cases * case.per_case, case.n_resamples)
        times = (f"{result['seconds']:.2f}", f"{result['loop_seconds']:.0f}", f"{result['ratio']:.0f}")
        comparisons = (str(result["comparisons"]), f"{result['comparison_seconds']:.2f}")
        table.add_row(*map(str, sizes), *times, *comparisons)
        print(json.dumps(result), flush=True)
        work = f"intervals of {case.scorers} x {case.targets} correlations, {case.cases * case.per_case:,} pairs"
        goal = TARGET if case == CASES[0] else None
        measured += [
            Figure(work, result["seconds"], "s", at_most=goal),
            Figure(f"{work}; against a loop over scipy", result["ratio"], parity="1e-12"),
        ]
    Console(width=110).print(table)
    return measured
