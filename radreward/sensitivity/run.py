"""Does a metric see errors, and does it mind what means nothing? Measured on reports that are edited on purpose."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.table import Table

from radreward.meta_evaluation.scorer_runner import score_pairs
from radreward.scorers.base import Scorer
from radreward.sensitivity.perturbations import (
    ERROR_PROBES,
    INVARIANCE_PROBES,
    PerturbedReport,
    perturb_report,
    sample_probe_report,
)

TOLERANCE = 1e-6
"""Scores that differ by less, relative to their size, are the same."""
PerturbedReports = list[dict[str, PerturbedReport]]
ProbeScores = list[float]
ProbeResult = dict[str, Any]


def run_sensitivity_tests(
    scorers: Mapping[str, Callable[[], Scorer]],
    reports: int = 50,
    seed: int = 0,
    cache_folder: Path | None = None,
    on_scorer: Callable[[str], None] = lambda scorer: None,
) -> list[ProbeResult]:
    """How scorers behave where a report differs from its reference in one kind of thing.

    Generated reports are references. The candidates are the reference itself, s_0, the reference with one, two and
    three errors of a kind, s_1, s_2, s_3, each with the errors of the one before, and the reference changed in what
    means nothing. All scores are turned so that more is better.

    - "falls", of an error: the share of all steps from s_(k-1) to s_k, over reports and k, in which s_k < s_(k-1).
    - "stays", of what means nothing: the share of reports for which s_0 - s < δ or s = s_0, where δ is the least that
      one error of any kind takes off the score of this report, among those errors that take anything off.

    1 is best in both. "doses" has the mean of s_k - s_0 for each k (k = 1 for what means nothing) in standard
    deviations of the scorer, over all candidates of all probes, s_0 among them. Scores are the same where they differ
    by less than 1e-6, relative to the larger of 1 and their size.

    Args:
        scorers: What makes each scorer, by its name.
        reports: How many reports are generated.
        seed: Equal seeds make equal reports and edits.
        folder: Where scores are remembered, as `score_pairs` does; nowhere where none is given.
        tell: Called with the name of each scorer when its turn has come.

    Returns:
        For each scorer and probe: scorer, probe, kind, score, n (steps or reports), doses, note. A probe that could not
        be measured has a score of None and a note that says why.

    Raises:
        ValueError: If `reports` is not positive.

    >>> from radreward.scorers import load
    >>> found = probe({"labels-14": lambda: load("labels-14")}, reports=4)
    >>> [entry["score"] for entry in found if entry["probe"] in ("negation", "laterality", "whitespace")]
    [0.0, 0.75, 1.0]
    """
    if reports < 1:
        raise ValueError(f"Expected `reports` to be >= 1 but got {reports}.")
    rng = Random(seed)
    drawn = [sample_probe_report(rng) for _ in range(reports)]
    families = [
        {name: perturb_report(name, report, f"{seed} {number}") for name in (*ERROR_PROBES, *INVARIANCE_PROBES)}
        for number, report in enumerate(drawn)
    ]
    texts = list(dict.fromkeys(_pairs(families)))
    entries: list[ProbeResult] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, load in scorers.items():
            on_scorer(name)
            scored = score_pairs(name, load, texts, cache_folder or Path(scratch))
            known = dict(zip(texts, scored.higher_is_better_totals.tolist(), strict=True))
            if scored.failure:
                entries += [
                    _probe_result(name, which, [], 0, [], scored.failure)
                    for which in (*ERROR_PROBES, *INVARIANCE_PROBES)
                ]
            else:
                entries += _probe_results(name, _probe_scores(families, known))
    return entries


def _pairs(families: PerturbedReports) -> Iterator[tuple[str, str]]:
    """Reference and candidate: of each report itself, then every edit in the order of the probes."""
    for one in families:
        reference = one[ERROR_PROBES[0]].reference
        yield reference, reference
        for made in one.values():
            yield from ((reference, text) for text in made.perturbed)


def _probe_scores(families: PerturbedReports, known: Mapping[tuple[str, str], float]) -> list[dict[str, ProbeScores]]:
    """Of each report, by probe: s_0 and the scores of the edits, more is better."""
    return [
        {
            name: [known[made.reference, text] for text in (made.reference, *made.perturbed)]
            for name, made in one.items()
        }
        for one in families
    ]


def _probe_results(scorer: str, rows: Sequence[Mapping[str, ProbeScores]]) -> Iterator[ProbeResult]:
    scores = np.array([value for row in rows for values in row.values() for value in values])
    known = scores[np.isfinite(scores)]
    deviation = float(known.std()) if known.size else math.nan
    for name in ERROR_PROBES:
        steps = [(before, after) for row in rows for before, after in zip(row[name], row[name][1:], strict=False)]
        fell = [_is_lower(after, before) for before, after in steps if math.isfinite(before) and math.isfinite(after)]
        yield _probe_result(scorer, name, fell, len(steps) - len(fell), _doses([row[name] for row in rows], deviation))
    least = [_smallest_drop(row) for row in rows]
    for name in INVARIANCE_PROBES:
        pairs = [(row[name][0], row[name][1], limit) for row, limit in zip(rows, least, strict=True)]
        stayed = [
            not _is_lower(after, before) or before - after < limit
            for before, after, limit in pairs
            if math.isfinite(before) and math.isfinite(after)
        ]
        yield _probe_result(
            scorer, name, stayed, len(pairs) - len(stayed), _doses([row[name] for row in rows], deviation)
        )


def _smallest_drop(row: Mapping[str, ProbeScores]) -> float:
    """δ: what the smallest single error takes off that takes anything off; 0 where none does."""
    falls = [
        row[name][0] - row[name][1]
        for name in ERROR_PROBES
        if len(row[name]) > 1 and _is_lower(row[name][1], row[name][0])
    ]
    return min(falls, default=0.0)


def _is_lower(score: float, baseline: float) -> bool:
    return score < baseline - TOLERANCE * max(1.0, abs(baseline))


def _doses(rows: Iterable[ProbeScores], deviation: float) -> list[list[float]]:
    """Of each dose, the mean change of the score in standard deviations, over the reports that have it."""
    changes: dict[int, list[float]] = {}
    for first, *others in rows:
        for dose, value in enumerate(others, 1):
            if math.isfinite(value - first) and deviation > 0:
                changes.setdefault(dose, []).append((value - first) / deviation)
    return [[dose, float(np.mean(values))] for dose, values in sorted(changes.items())]


def _probe_result(
    scorer: str,
    name: str,
    passed: Sequence[bool],
    unscored: int,
    doses: list[list[float]],
    note: str | None = None,
) -> ProbeResult:
    known: NDArray[np.bool_] = np.array(passed, dtype=bool)
    if note is None and unscored:
        note = f"{unscored} without a score"
    return {
        "scorer": scorer,
        "probe": name,
        "kind": "falls" if name in ERROR_PROBES else "stays",
        "score": float(known.mean()) if known.size else None,
        "n": int(known.size),
        "doses": doses,
        "note": note,
    }


def sensitivity_tables(results: Sequence[ProbeResult]) -> Iterator[Table]:
    """Scorers by probes: shares in hundredths, - where there is none."""
    shares = {(entry["scorer"], entry["probe"]): entry["score"] for entry in results}
    for title, names in (
        ("Falls with errors (%)", ERROR_PROBES),
        ("Stays with what means nothing (%)", INVARIANCE_PROBES),
    ):
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
        table.add_column("")
        for name in names:
            table.add_column(name, justify="right", min_width=max(map(len, name.split())))
        for scorer in dict.fromkeys(entry["scorer"] for entry in results):
            cells = [shares.get((scorer, name)) for name in names]
            table.add_row(scorer, *("-" if share is None else f"{100 * share:.0f}" for share in cells))
        yield table
