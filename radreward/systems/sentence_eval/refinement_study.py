"""Whether what a judge says of reports is right: they are corrected by it, and judged again (Zhu et al., 2024)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.table import Table

from radreward.errors import InputError
from radreward.io.text_tables import format_number, format_signed, latex_table, markdown_table, terminal_table
from radreward.scorers.base import SCORED_STATUSES, STATUS_OK, Scorer, validate_pair
from radreward.statistics.cluster_bootstrap import percentile_interval, resample_clusters
from radreward.systems.sentence_eval.judges.base import SentenceJudge
from radreward.systems.sentence_eval.refinement import Correction, ReportRefiner
from radreward.text.sentence_splitter import split_sentences
from radreward.types import SentenceJudgement

JUDGE_ROW = "judge"
"""The row of the judge's own overall score."""
BOOTSTRAP_SAMPLES = 2_000
_COLUMNS = ("", "pairs", "before", "after", "Δ", "95 %", "better")


class RefinementResult(NamedTuple):
    """A pair of reports, before and after."""

    refined_text: str
    """The corrected candidate; empty where there is none."""
    corrections: tuple[Correction, ...]
    judgement_before: SentenceJudgement | None
    judgement_after: SentenceJudgement | None
    scores: dict[str, tuple[float, float]]
    """Before and after, by scorer, where both are."""
    status: str
    """"ok", "unchanged", or why there is no refined report."""


class ScoreChange(NamedTuple):
    """A row of the table: means over the pairs that have a score before and after."""

    scorer: str
    num_pairs: int
    before: float | None
    after: float | None
    difference: float | None
    ci_low: float | None
    """Of the bootstrap's 95 % interval of the difference, over pairs."""
    ci_high: float | None
    fraction_improved: float | None
    """Share of pairs whose score is better after."""


class ScoreChangeFiles(NamedTuple):
    """The files of a table."""

    csv: Path
    markdown: Path
    latex: Path


def run_refinement_study(
    references: Sequence[str],
    candidates: Sequence[str],
    judge: SentenceJudge,
    refiner: ReportRefiner,
    scorers: Mapping[str, Scorer],
) -> list[RefinementResult]:
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
    status = [
        bad.reason if (bad := validate_pair(*pair)) else STATUS_OK for pair in zip(references, candidates, strict=True)
    ]
    ours, theirs = (
        [split_sentences(text) if isinstance(text, str) else [] for text in side] for side in (references, candidates)
    )
    before = _judge_rows(judge, ours, theirs, [place for place, entry in enumerate(status) if entry == STATUS_OK])
    for place, judgement in before.items():
        if not _has_content(judgement):
            status[place] = f"not judged: {judgement.status}"
    able = [place for place, entry in enumerate(status) if entry == STATUS_OK]
    revisions = dict(
        zip(
            able,
            refiner.refine([ours[p] for p in able], [theirs[p] for p in able], [before[p] for p in able]),
            strict=True,
        )
    )
    refined = {place: revision.text for place, revision in revisions.items() if revision.text}
    again = [split_sentences(refined.get(place, "")) for place in range(len(status))]
    after = _judge_rows(judge, ours, again, list(refined))
    scored = {name: _score_changed(scorer, references, candidates, refined) for name, scorer in scorers.items()}
    found = []
    for place, entry in enumerate(status):
        revision = revisions.get(place)
        scores = {name: values[place] for name, values in scored.items() if place in values}
        both = [judgement.overall for judgement in (before.get(place), after.get(place)) if judgement is not None]
        if len(both) == 2 and both[0] is not None and both[1] is not None:
            scores = {JUDGE_ROW: (both[0], both[1]), **scores}
        found.append(
            RefinementResult(
                refined.get(place, ""),
                revision.corrections if revision else (),
                before.get(place),
                after.get(place),
                scores,
                revision.status if revision else entry,
            )
        )
    return found


def _judge_rows(
    judge: SentenceJudge,
    references: Sequence[Sequence[str]],
    candidates: Sequence[Sequence[str]],
    indices: Sequence[int],
) -> dict[int, SentenceJudgement]:
    judgements = judge.judge([references[place] for place in indices], [candidates[place] for place in indices])
    return dict(zip(indices, judgements, strict=True))


def _has_content(judgement: SentenceJudgement) -> bool:
    scores = (*judgement.reference_scores, *judgement.candidate_scores)
    return bool(judgement.explanation.strip()) or any(score is not None for score in scores)


def _score_changed(
    scorer: Scorer, references: Sequence[str], candidates: Sequence[str], refined: Mapping[int, str]
) -> dict[int, tuple[float, float]]:
    places = list(refined)
    originals = [references[place] for place in places]
    before = scorer.score(originals, [candidates[place] for place in places])
    after = scorer.score(originals, [refined[place] for place in places])
    return {
        place: (before.total[row].item(), after.total[row].item())
        for row, place in enumerate(places)
        if before.status[row] in SCORED_STATUSES and after.status[row] in SCORED_STATUSES
    }


def score_changes(
    row_scores: Sequence[Mapping[str, tuple[float, float]]], scorers: Mapping[str, Scorer], seed: int = 0
) -> list[ScoreChange]:
    """The table: the judge and every scorer, before and after.

    Args:
        scores: The `scores` of what `verify` gave.
        scorers: Those that it was given.
        seed: Of the bootstrap.
    """
    rows = []
    for name in (JUDGE_ROW, *scorers):
        pairs = np.array([entry[name] for entry in row_scores if name in entry], dtype=np.float64)
        if not len(pairs):
            rows.append(ScoreChange(name, 0, *[None] * 6))
            continue
        gain = pairs[:, 1] - pairs[:, 0]
        draws = resample_clusters(len(gain), BOOTSTRAP_SAMPLES, seed) @ gain / len(gain)
        low, high = percentile_interval(draws)
        better = gain > 0 if name == JUDGE_ROW or scorers[name].higher_is_better else gain < 0
        rows.append(
            ScoreChange(
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


def score_change_table(rows: Sequence[ScoreChange]) -> Table:
    """The table for the terminal."""
    return terminal_table("Before and after the corrections", _COLUMNS, [_format_row(row) for row in rows])


def write_score_changes(rows: Sequence[ScoreChange], stem: Path) -> ScoreChangeFiles:
    """Write the table as CSV, Markdown and LaTeX: `<stem>.csv` and so on.

    Raises:
        InputError: If they cannot be written.
    """
    written = ScoreChangeFiles(*(stem.with_name(f"{stem.name}.{end}") for end in ("csv", "md", "tex")))
    cells = [_format_row(row) for row in rows]
    try:
        with written.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([ScoreChange._fields, *rows])
        written.markdown.write_text(markdown_table(_COLUMNS, cells) + "\n", encoding="utf-8")
        written.latex.write_text(latex_table(_COLUMNS, cells) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{error.filename or stem}: cannot be written ({error.strerror}).") from error
    return written


def _format_row(row: ScoreChange) -> list[str]:
    if row.difference is None or row.ci_low is None or row.ci_high is None or row.fraction_improved is None:
        return [row.scorer, "0", *["–"] * 5]
    between = f"{format_signed(row.ci_low)} to {format_signed(row.ci_high)}"
    figures = [
        format_number(row.before),
        format_number(row.after),
        format_signed(row.difference),
        between,
        f"{row.fraction_improved:.2f}",
    ]
    return [row.scorer, str(row.num_pairs), *figures]
