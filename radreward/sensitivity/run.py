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
from radreward.sensitivity.perturbations import FALLS, STAYS, Family, family, sample_report

SAME = 1e-6
"""Scores that differ by less, relative to their size, are the same."""
Families = list[dict[str, Family]]
Row = list[float]
Entry = dict[str, Any]


def probe(
    scorers: Mapping[str, Callable[[], Scorer]],
    reports: int = 50,
    seed: int = 0,
    folder: Path | None = None,
    tell: Callable[[str], None] = lambda scorer: None,
) -> list[Entry]:
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
    drawn = [sample_report(rng) for _ in range(reports)]
    families = [
        {name: family(name, report, f"{seed} {number}") for name in (*FALLS, *STAYS)}
        for number, report in enumerate(drawn)
    ]
    texts = list(dict.fromkeys(_pairs(families)))
    entries: list[Entry] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, load in scorers.items():
            tell(name)
            scored = score_pairs(name, load, texts, folder or Path(scratch))
            known = dict(zip(texts, scored.oriented.tolist(), strict=True))
            if scored.reason:
                entries += [_entry(name, which, [], 0, [], scored.reason) for which in (*FALLS, *STAYS)]
            else:
                entries += _entries(name, _rows(families, known))
    return entries


def _pairs(families: Families) -> Iterator[tuple[str, str]]:
    """Reference and candidate: of each report itself, then every edit in the order of the probes."""
    for one in families:
        reference = one[FALLS[0]].reference
        yield reference, reference
        for made in one.values():
            yield from ((reference, text) for text in made.edited)


def _rows(families: Families, known: Mapping[tuple[str, str], float]) -> list[dict[str, Row]]:
    """Of each report, by probe: s_0 and the scores of the edits, more is better."""
    return [
        {name: [known[made.reference, text] for text in (made.reference, *made.edited)] for name, made in one.items()}
        for one in families
    ]


def _entries(scorer: str, rows: Sequence[Mapping[str, Row]]) -> Iterator[Entry]:
    scores = np.array([value for row in rows for values in row.values() for value in values])
    known = scores[np.isfinite(scores)]
    deviation = float(known.std()) if known.size else math.nan
    for name in FALLS:
        steps = [(before, after) for row in rows for before, after in zip(row[name], row[name][1:], strict=False)]
        fell = [_less(after, before) for before, after in steps if math.isfinite(before) and math.isfinite(after)]
        yield _entry(scorer, name, fell, len(steps) - len(fell), _doses([row[name] for row in rows], deviation))
    least = [_least(row) for row in rows]
    for name in STAYS:
        pairs = [(row[name][0], row[name][1], limit) for row, limit in zip(rows, least, strict=True)]
        stayed = [
            not _less(after, before) or before - after < limit
            for before, after, limit in pairs
            if math.isfinite(before) and math.isfinite(after)
        ]
        yield _entry(scorer, name, stayed, len(pairs) - len(stayed), _doses([row[name] for row in rows], deviation))


def _least(row: Mapping[str, Row]) -> float:
    """δ: what the smallest single error takes off that takes anything off; 0 where none does."""
    falls = [row[name][0] - row[name][1] for name in FALLS if len(row[name]) > 1 and _less(row[name][1], row[name][0])]
    return min(falls, default=0.0)


def _less(one: float, other: float) -> bool:
    return one < other - SAME * max(1.0, abs(other))


def _doses(rows: Iterable[Row], deviation: float) -> list[list[float]]:
    """Of each dose, the mean change of the score in standard deviations, over the reports that have it."""
    changes: dict[int, list[float]] = {}
    for first, *others in rows:
        for dose, value in enumerate(others, 1):
            if math.isfinite(value - first) and deviation > 0:
                changes.setdefault(dose, []).append((value - first) / deviation)
    return [[dose, float(np.mean(values))] for dose, values in sorted(changes.items())]


def _entry(
    scorer: str,
    name: str,
    held: Sequence[bool],
    unscored: int,
    doses: list[list[float]],
    note: str | None = None,
) -> Entry:
    known: NDArray[np.bool_] = np.array(held, dtype=bool)
    if note is None and unscored:
        note = f"{unscored} without a score"
    return {
        "scorer": scorer,
        "probe": name,
        "kind": "falls" if name in FALLS else "stays",
        "score": float(known.mean()) if known.size else None,
        "n": int(known.size),
        "doses": doses,
        "note": note,
    }


def probe_tables(entries: Sequence[Entry]) -> Iterator[Table]:
    """Scorers by probes: shares in hundredths, - where there is none."""
    shares = {(entry["scorer"], entry["probe"]): entry["score"] for entry in entries}
    for title, names in (("Falls with errors (%)", FALLS), ("Stays with what means nothing (%)", STAYS)):
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
        table.add_column("")
        for name in names:
            table.add_column(name, justify="right", min_width=max(map(len, name.split())))
        for scorer in dict.fromkeys(entry["scorer"] for entry in entries):
            cells = [shares.get((scorer, name)) for name in names]
            table.add_row(scorer, *("-" if share is None else f"{100 * share:.0f}" for share in cells))
        yield table
