"""Run sensitivity tests of scorers and return the results as rows and tables."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, starmap
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from radreward.io.terminal_tables import TerminalTable
from radreward.io.text_tables import text_frame, with_fewer_columns
from radreward.meta_evaluation.score_cache import ScoredTexts
from radreward.meta_evaluation.scorer_runner import SCORES_FILE, run_scorer
from radreward.scorers.base import Scorer
from radreward.sensitivity.probe_reports import sample_probe_report
from radreward.sensitivity.probes import (
    ERROR_PROBES,
    FALLING_PROBES,
    INVARIANCE_PROBES,
    PerturbedReport,
    perturb_report,
)

TOLERANCE = 1e-6
"""Scores are equal if they differ by no more than this, relative to the larger of 1 and the size of the score."""
_ALL_PROBES = (*FALLING_PROBES, *INVARIANCE_PROBES)
_ProbeScores = dict[str, list[float]]
"""Probe → scores of one report, higher is better: s_0, then the scores of its perturbations."""
ProbeResult = dict[str, Any]


def run_sensitivity_tests(
    scorers: Mapping[str, Callable[[], Scorer]],
    reports: int = 50,
    seed: int = 0,
    cache_folder: Path | None = None,
    on_scorer: Callable[[str], None] = lambda scorer: None,
) -> list[ProbeResult]:
    """Measure the effect of errors and of meaning-preserving edits on scores.

    References are generated reports. Scores are oriented so that higher is better. Scores of one report:

    - s_0: the reference itself.
    - s_1, s_2, s_3: with one, two and three errors of one kind; each version keeps the errors of the one before.
    - s_1, s_2 of a graded probe: with one finding partly correct, and without this finding.
    - s_1 of a meaning-preserving edit: after the edit.

    The score of a probe is at best 1. Its kind is one of two:

    - "falls", for errors and partly correct findings: the fraction of steps, over reports and k, with s_k < s_(k-1).
    - "stays", for meaning-preserving edits: the fraction of reports with s_1 >= s_0 or s_0 - s_1 < δ. Here δ is the
      smallest drop of the score of this report by a single error, over all errors that lower it.

    "doses" are the means of s_k - s_0 for each k, in standard deviations of all scores. `TOLERANCE` defines equality.

    Args:
        scorers: Name → function that creates the scorer.
        reports: Number of generated reports.
        seed: Seed of all sampling.
        cache_folder: Folder of cached scores, as in a benchmark; None for no cache.
        on_scorer: Called with the name of each scorer before it runs.

    Returns:
        One entry per scorer and probe: scorer, probe, kind, score, n (steps or reports), doses, note. If the probe
        could not be measured, the score is None and the note states the reason.

    Raises:
        ValueError: If `reports` is not positive.

    >>> from radreward.scorers import load
    >>> results = run_sensitivity_tests({"chexpert-f1": lambda: load("chexpert-f1")}, reports=4)
    >>> [(entry["probe"], round(entry["score"], 2)) for entry in results[:2]]
    [('laterality', 0.0), ('negation', 0.92)]
    """
    if reports < 1:
        raise ValueError(f"Expected `reports` to be >= 1 but got {reports}.")
    perturbed = _perturbed_reports(reports, seed)
    pairs = list(dict.fromkeys(_pairs(perturbed)))
    results: list[ProbeResult] = []
    with tempfile.TemporaryDirectory() as scratch:
        cache_path = (cache_folder or Path(scratch)) / SCORES_FILE
        for name, load in scorers.items():
            on_scorer(name)
            run = run_scorer(name, load, lambda: starmap(ScoredTexts, pairs), cache_path)
            if run.failure:
                results += [_probe_result(name, probe, [], 0, [], run.failure) for probe in _ALL_PROBES]
                continue
            for output in run.outputs():
                scores = dict(zip(pairs, output.higher_is_better_totals.tolist(), strict=True))
                results += _probe_results(output.name, [_probe_scores(report, scores) for report in perturbed])
    return results


def _perturbed_reports(count: int, seed: int) -> list[dict[str, PerturbedReport]]:
    """Return the perturbations of each generated report, by probe."""
    rng = Random(seed)
    reports = [sample_probe_report(rng) for _ in range(count)]
    return [
        {probe: perturb_report(probe, report, f"{seed} {number}") for probe in _ALL_PROBES}
        for number, report in enumerate(reports)
    ]


def _pairs(perturbed: Iterable[Mapping[str, PerturbedReport]]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of reference and candidate to score."""
    for probes in perturbed:
        for report in probes.values():
            yield from ((report.reference, text) for text in (report.reference, *report.perturbed))


def _probe_scores(probes: Mapping[str, PerturbedReport], scores: Mapping[tuple[str, str], float]) -> _ProbeScores:
    return {
        probe: [scores[report.reference, text] for text in (report.reference, *report.perturbed)]
        for probe, report in probes.items()
    }


def _probe_results(scorer: str, reports: Sequence[_ProbeScores]) -> Iterator[ProbeResult]:
    scores = np.array([score for report in reports for values in report.values() for score in values])
    finite = scores[np.isfinite(scores)]
    std = float(finite.std()) if finite.size else math.nan
    limits = [_smallest_drop(report) for report in reports]
    for probe in _ALL_PROBES:
        rows = [report[probe] for report in reports]
        steps = [(step, limit) for row, limit in zip(rows, limits, strict=True) for step in pairwise(row)]
        passed = [
            _is_lower(after, before) if probe in FALLING_PROBES else _stays(before, after, limit)
            for (before, after), limit in steps
            if math.isfinite(before + after)
        ]
        yield _probe_result(scorer, probe, passed, len(steps) - len(passed), _mean_changes(rows, std))


def _smallest_drop(scores: _ProbeScores) -> float:
    """Return δ: the smallest drop by a single error that lowers the score, or 0 if no error does."""
    first = [scores[probe][:2] for probe in ERROR_PROBES if len(scores[probe]) > 1]
    return min((before - after for before, after in first if _is_lower(after, before)), default=0.0)


def _is_lower(score: float, baseline: float) -> bool:
    return score < baseline - TOLERANCE * max(1.0, abs(baseline))


def _stays(before: float, after: float, limit: float) -> bool:
    return not _is_lower(after, before) or before - after < limit


def _mean_changes(rows: Iterable[list[float]], std: float) -> list[list[float]]:
    """Return [number of edits, mean change of the score in standard deviations] for each number of edits."""
    changes: dict[int, list[float]] = {}
    for baseline, *scores in rows:
        for dose, score in enumerate(scores, 1):
            if math.isfinite(score - baseline) and std > 0:
                changes.setdefault(dose, []).append((score - baseline) / std)
    return [[dose, float(np.mean(values))] for dose, values in sorted(changes.items())]


def _probe_result(
    scorer: str,
    probe: str,
    passed: Sequence[bool],
    num_unscored: int,
    doses: list[list[float]],
    note: str | None = None,
) -> ProbeResult:
    if note is None and num_unscored:
        note = f"{num_unscored} without a score"
    return {
        "scorer": scorer,
        "probe": probe,
        "kind": "falls" if probe in FALLING_PROBES else "stays",
        "score": float(np.mean(passed)) if passed else None,
        "n": len(passed),
        "doses": doses,
        "note": note,
    }


def sensitivity_tables(results: Sequence[ProbeResult]) -> Iterator[TerminalTable]:
    """Yield a table per kind of probe, in percent. Discrimination and robustness are the means over the probes."""
    scores = {(result["scorer"], result["probe"]): result["score"] for result in results}
    scorers = list(dict.fromkeys(result["scorer"] for result in results))
    tables = (
        ("Falls with errors (%)", "discrimination", FALLING_PROBES),
        ("Stays under meaning-preserving edits (%)", "robustness", INVARIANCE_PROBES),
    )
    for title, summary, probes in tables:
        rows = []
        for scorer in scorers:
            values = [scores.get((scorer, probe)) for probe in probes]
            measured = [value for value in values if value is not None]
            mean = float(np.mean(measured)) if measured else None
            rows.append([scorer, *("-" if value is None else f"{100 * value:.0f}" for value in (mean, *values))])
        yield TerminalTable(title, with_fewer_columns(text_frame(["", summary, *probes], rows)))
