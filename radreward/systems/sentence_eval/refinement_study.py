"""Whether what a judge says of reports is right: they are corrected by it, and judged again (Zhu et al., 2024)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.table import Table

from radreward.errors import InputError
from radreward.io.text_tables import latex_table, markdown_table, plain, signed, terminal_table
from radreward.scorers.base import OK, SCORED, Scorer, problem
from radreward.statistics.cluster_bootstrap import draw_cases, interval
from radreward.systems.sentence_eval.judges.base import SentenceJudge
from radreward.systems.sentence_eval.refinement import Correction, Reviser
from radreward.text.sentence_splitter import split_sentences
from radreward.types import SentenceJudgement

JUDGE = "judge"
"""The row of the judge's own overall score."""
DRAWS = 2_000
_HEADS = ("", "pairs", "before", "after", "Δ", "95 %", "better")


class Verified(NamedTuple):
    """A pair of reports, before and after."""

    refined: str
    """The corrected candidate; empty where there is none."""
    corrections: tuple[Correction, ...]
    before: SentenceJudgement | None
    after: SentenceJudgement | None
    scores: dict[str, tuple[float, float]]
    """Before and after, by scorer, where both are."""
    status: str
    """"ok", "unchanged", or why there is no refined report."""


class Change(NamedTuple):
    """A row of the table: means over the pairs that have a score before and after."""

    scorer: str
    pairs: int
    before: float | None
    after: float | None
    difference: float | None
    low: float | None
    """Of the bootstrap's 95 % interval of the difference, over pairs."""
    high: float | None
    better: float | None
    """Share of pairs whose score is better after."""


class Written(NamedTuple):
    """The files of a table."""

    csv: Path
    markdown: Path
    latex: Path


def verify(
    references: Sequence[str],
    candidates: Sequence[str],
    judge: SentenceJudge,
    reviser: Reviser,
    scorers: Mapping[str, Scorer],
) -> list[Verified]:
    """Judge candidates, correct them by what is said, judge and score them again.

    Args:
        references: The originals.
        candidates: As many.
        judge: What judges both times.
        reviser: What corrects.
        scorers: What scores before and after, by name.

    Returns:
        One for each pair, in order. A pair that cannot be judged or corrected has a status that says why.

    Raises:
        ValueError: If there are not as many references as candidates.
    """
    if len(references) != len(candidates):
        raise ValueError(f"Expected as many references as candidates but got {len(references)} and {len(candidates)}.")
    status = [bad.reason if (bad := problem(*pair)) else OK for pair in zip(references, candidates, strict=True)]
    ours, theirs = (
        [split_sentences(text) if isinstance(text, str) else [] for text in side] for side in (references, candidates)
    )
    before = _judged(judge, ours, theirs, [place for place, entry in enumerate(status) if entry == OK])
    for place, judgement in before.items():
        if not _says_anything(judgement):
            status[place] = f"not judged: {judgement.status}"
    able = [place for place, entry in enumerate(status) if entry == OK]
    revisions = dict(
        zip(
            able,
            reviser.revise([ours[p] for p in able], [theirs[p] for p in able], [before[p] for p in able]),
            strict=True,
        )
    )
    refined = {place: revision.text for place, revision in revisions.items() if revision.text}
    again = [split_sentences(refined.get(place, "")) for place in range(len(status))]
    after = _judged(judge, ours, again, list(refined))
    scored = {name: _scored(scorer, references, candidates, refined) for name, scorer in scorers.items()}
    found = []
    for place, entry in enumerate(status):
        revision = revisions.get(place)
        scores = {name: values[place] for name, values in scored.items() if place in values}
        both = [judgement.overall for judgement in (before.get(place), after.get(place)) if judgement is not None]
        if len(both) == 2 and both[0] is not None and both[1] is not None:
            scores = {JUDGE: (both[0], both[1]), **scores}
        found.append(
            Verified(
                refined.get(place, ""),
                revision.corrections if revision else (),
                before.get(place),
                after.get(place),
                scores,
                revision.status if revision else entry,
            )
        )
    return found


def _judged(
    judge: SentenceJudge, ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]], places: Sequence[int]
) -> dict[int, SentenceJudgement]:
    judgements = judge.judge([ours[place] for place in places], [theirs[place] for place in places])
    return dict(zip(places, judgements, strict=True))


def _says_anything(judgement: SentenceJudgement) -> bool:
    scores = (*judgement.original, *judgement.predicted)
    return bool(judgement.explanation.strip()) or any(score is not None for score in scores)


def _scored(
    scorer: Scorer, references: Sequence[str], candidates: Sequence[str], refined: Mapping[int, str]
) -> dict[int, tuple[float, float]]:
    places = list(refined)
    originals = [references[place] for place in places]
    before = scorer.score(originals, [candidates[place] for place in places])
    after = scorer.score(originals, [refined[place] for place in places])
    return {
        place: (before.total[row].item(), after.total[row].item())
        for row, place in enumerate(places)
        if before.status[row] in SCORED and after.status[row] in SCORED
    }


def changes(
    scores: Sequence[Mapping[str, tuple[float, float]]], scorers: Mapping[str, Scorer], seed: int = 0
) -> list[Change]:
    """The table: the judge and every scorer, before and after.

    Args:
        scores: The `scores` of what `verify` gave.
        scorers: Those that it was given.
        seed: Of the bootstrap.
    """
    rows = []
    for name in (JUDGE, *scorers):
        pairs = np.array([entry[name] for entry in scores if name in entry], dtype=np.float64)
        if not len(pairs):
            rows.append(Change(name, 0, *[None] * 6))
            continue
        gain = pairs[:, 1] - pairs[:, 0]
        draws = draw_cases(len(gain), DRAWS, seed) @ gain / len(gain)
        low, high = interval(draws)
        better = gain > 0 if name == JUDGE or scorers[name].higher_is_better else gain < 0
        rows.append(
            Change(
                name,
                len(gain),
                float(pairs[:, 0].mean()),
                float(pairs[:, 1].mean()),
                float(gain.mean()),
                float(low),
                float(high),
                float(better.mean()),
            )
        )
    return rows


def change_table(rows: Sequence[Change]) -> Table:
    """The table for the terminal."""
    return terminal_table("Before and after the corrections", _HEADS, [_cells(row) for row in rows])


def write_changes(rows: Sequence[Change], stem: Path) -> Written:
    """Write the table as CSV, Markdown and LaTeX: `<stem>.csv` and so on.

    Raises:
        InputError: If they cannot be written.
    """
    written = Written(*(stem.with_name(f"{stem.name}.{end}") for end in ("csv", "md", "tex")))
    cells = [_cells(row) for row in rows]
    try:
        with written.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([Change._fields, *rows])
        written.markdown.write_text(markdown_table(_HEADS, cells) + "\n", encoding="utf-8")
        written.latex.write_text(latex_table(_HEADS, cells) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{error.filename or stem}: cannot be written ({error.strerror}).") from error
    return written


def _cells(row: Change) -> list[str]:
    if row.difference is None or row.low is None or row.high is None or row.better is None:
        return [row.scorer, "0", *["–"] * 5]
    between = f"{signed(row.low)} to {signed(row.high)}"
    figures = [plain(row.before), plain(row.after), signed(row.difference), between, f"{row.better:.2f}"]
    return [row.scorer, str(row.pairs), *figures]
