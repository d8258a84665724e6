"""Test of a judge: refine candidates by its judgements, then judge and score them again (section III.C)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from radreward.io.atomic import write_text_file
from radreward.io.tables import csv_cell
from radreward.io.terminal_tables import TerminalTable
from radreward.io.text_tables import (
    format_number,
    format_signed,
    latex_table,
    markdown_table,
    text_frame,
)
from radreward.scorers.base import Scorer
from radreward.scorers.pair_errors import validate_pair
from radreward.scorers.status import SCORED_STATUSES, STATUS_OK
from radreward.statistics.cluster_bootstrap import percentile_interval, resample_clusters
from radreward.systems.sentence_eval.judgement import SentenceJudgement
from radreward.systems.sentence_eval.judges import SentenceJudge
from radreward.systems.sentence_eval.refinement import Correction, ReportRefiner
from radreward.text.sentence_splitter import split_sentences

if TYPE_CHECKING:
    import pandas as pd

JUDGE_ROW = "judge"
"""Row of the judge's own overall score."""
_BOOTSTRAP_SAMPLES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinementResult:
    """A report pair before and after the refinement."""

    refined_text: str
    """Refined candidate; empty if unavailable."""
    corrections: tuple[Correction, ...]
    judgement_before: SentenceJudgement | None
    judgement_after: SentenceJudgement | None
    scores: dict[str, tuple[float, float]]
    """Scores before and after, by scorer, if both are available."""
    status: str
    """"ok", "unchanged", or the reason why there is no refined report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreChange:
    """Means of a scorer over the pairs with a score before and after; NaN without such pairs."""

    scorer: str
    num_pairs: int
    before: float = math.nan
    after: float = math.nan
    difference: float = math.nan
    ci_low: float = math.nan
    """Lower end of the 95 % bootstrap interval of the difference, over pairs."""
    ci_high: float = math.nan
    fraction_improved: float = math.nan
    """Fraction of the pairs with a better score after."""


def run_refinement_study(
    references: Sequence[str],
    candidates: Sequence[str],
    judge: SentenceJudge,
    refiner: ReportRefiner,
    scorers: Mapping[str, Scorer],
) -> list[RefinementResult]:
    """Judge and score n candidates before and after their refinement.

    Returns:
        One result per pair, in order. The status of a pair that cannot be judged or refined states the reason.

    Raises:
        ValueError: If the numbers of references and candidates differ.
    """
    if len(references) != len(candidates):
        raise ValueError(f"Expected one candidate per reference but got {len(references)} and {len(candidates)}.")
    errors = [validate_pair(*pair) for pair in zip(references, candidates, strict=True)]
    status = [STATUS_OK if error is None else error.reason for error in errors]
    valid = [index for index, error in enumerate(errors) if error is None]
    reference_sentences = {index: split_sentences(references[index]) for index in valid}
    candidate_sentences = {index: split_sentences(candidates[index]) for index in valid}
    before = _judge_rows(judge, reference_sentences, candidate_sentences)
    for index, judgement in before.items():
        if not _has_content(judgement):
            status[index] = f"not judged: {judgement.status}"
    refinable = [index for index in valid if status[index] == STATUS_OK]
    refinements = refiner.refine(
        [reference_sentences[index] for index in refinable],
        [candidate_sentences[index] for index in refinable],
        [before[index] for index in refinable],
    )
    reports = dict(zip(refinable, refinements, strict=True))
    refined = {index: report.text for index, report in reports.items() if report.text}
    after = _judge_rows(judge, reference_sentences, {index: split_sentences(text) for index, text in refined.items()})
    changed = {JUDGE_ROW: _overall_changes(before, after)} | {
        name: _score_refined(scorer, references, candidates, refined) for name, scorer in scorers.items()
    }
    return [
        RefinementResult(
            refined_text=refined.get(index, ""),
            corrections=reports[index].corrections if index in reports else (),
            judgement_before=before.get(index),
            judgement_after=after.get(index),
            scores={name: values[index] for name, values in changed.items() if index in values},
            status=reports[index].status if index in reports else status[index],
        )
        for index in range(len(status))
    ]


def _judge_rows(
    judge: SentenceJudge, references: Mapping[int, list[str]], candidates: Mapping[int, list[str]]
) -> dict[int, SentenceJudgement]:
    """Return the judgements of the candidates, by row."""
    judgements = judge.judge([references[index] for index in candidates], list(candidates.values()))
    return dict(zip(candidates, judgements, strict=True))


def _has_content(judgement: SentenceJudgement) -> bool:
    scores = (*judgement.reference_scores, *judgement.candidate_scores)
    return bool(judgement.explanation.strip()) or any(score is not None for score in scores)


def _overall_changes(
    before: Mapping[int, SentenceJudgement], after: Mapping[int, SentenceJudgement]
) -> dict[int, tuple[float, float]]:
    pairs = {index: (before[index].overall, judgement.overall) for index, judgement in after.items()}
    return {index: (old, new) for index, (old, new) in pairs.items() if old is not None and new is not None}


def _score_refined(
    scorer: Scorer, references: Sequence[str], candidates: Sequence[str], refined: Mapping[int, str]
) -> dict[int, tuple[float, float]]:
    originals = [references[index] for index in refined]
    before = scorer.score(originals, [candidates[index] for index in refined])
    after = scorer.score(originals, list(refined.values()))
    return {
        index: (before.total[row].item(), after.total[row].item())
        for row, index in enumerate(refined)
        if before.status[row] in SCORED_STATUSES and after.status[row] in SCORED_STATUSES
    }


def score_changes(
    row_scores: Sequence[Mapping[str, tuple[float, float]]], scorers: Mapping[str, Scorer], seed: int = 0
) -> list[ScoreChange]:
    """Return the score changes of the judge and of every scorer, given `RefinementResult.scores` of every pair."""
    rows = []
    for name in (JUDGE_ROW, *scorers):
        pairs = np.array([scores[name] for scores in row_scores if name in scores], dtype=np.float64)
        if not len(pairs):
            rows.append(ScoreChange(scorer=name, num_pairs=0))
            continue
        gain = pairs[:, 1] - pairs[:, 0]
        low, high = percentile_interval(resample_clusters(len(gain), _BOOTSTRAP_SAMPLES, seed) @ gain / len(gain))
        improved = gain > 0 if name == JUDGE_ROW or scorers[name].higher_is_better else gain < 0
        rows.append(
            ScoreChange(
                scorer=name,
                num_pairs=len(gain),
                before=float(pairs[:, 0].mean()),
                after=float(pairs[:, 1].mean()),
                difference=float(gain.mean()),
                ci_low=float(low),
                ci_high=float(high),
                fraction_improved=float(improved.mean()),
            )
        )
    return rows


def score_change_table(rows: Sequence[ScoreChange]) -> TerminalTable:
    """Return the table for the terminal."""
    return TerminalTable("Before and after refinement", _formatted(rows))


def write_score_changes(rows: Sequence[ScoreChange], stem: Path) -> list[Path]:
    """Write the table to `<stem>.csv`, `<stem>.md` and `<stem>.tex`, and return the paths.

    Raises:
        InputError: If a file cannot be written.
    """
    import pandas as pd

    numbers = pd.DataFrame([asdict(row) | {"scorer": csv_cell(row.scorer)} for row in rows]).to_csv(index=False)
    frame = _formatted(rows)
    texts = {"csv": numbers, "md": markdown_table(frame) + "\n", "tex": latex_table(frame) + "\n"}
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        write_text_file(path, text)
    return paths


def _formatted(rows: Sequence[ScoreChange]) -> pd.DataFrame:
    return text_frame(
        ("", "pairs", "before", "after", "Δ", "95 %", "better"),
        [
            [
                row.scorer,
                row.num_pairs,
                format_number(row.before),
                format_number(row.after),
                format_signed(row.difference),
                f"{format_signed(row.ci_low)} to {format_signed(row.ci_high)}",
                format_number(row.fraction_improved, 2),
            ]
            if row.num_pairs
            else [row.scorer, 0, *["–"] * 5]
            for row in rows
        ],
    )
