"""Reports judged sentence by sentence (Zhu et al. 2024), with an overall score per case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from radreward.data.relation_io import RELATION_SCORES
from radreward.io.validated_rows import (
    RowError,
    number_field,
    optional_text_field,
    raise_row_errors,
    read_validated_rows,
    text_field,
)
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, RatedPair
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.systems.sentence_eval.judgement_io import JudgedPair

_REFERENCE_TYPES = frozenset({"original", "reference"})
_CANDIDATE_TYPES = frozenset({"predicted", "prediction", "candidate"})
_MATCH_ID = re.compile(r"[A-Za-z0-9]+")


class _SentenceRow(NamedTuple):
    case_id: str
    rater: str
    is_candidate: bool
    sentence_id: str
    sentence: str
    matches: tuple[str, ...]
    """Ids of sentences of the other report."""
    score: float | None
    overall_score: float | None


def read_sentence_scores(source: Path) -> Iterator[JudgedPair]:
    """Yield the sentence scores of each case by each rater.

    The file has the columns of `read_sentence_evaluation` and two more: Match ID, the ids of the matched sentences of
    the other report, as in "C,D", and Sentence Score, which is -1, 0, 0.5 or 1.

    Args:
        source: A file in any format of `read_rows`.

    Raises:
        InputError: If a row is invalid, a case lacks the original report, an id occurs twice, or a match is unknown.
    """
    by_rater: dict[tuple[str, str], list[_SentenceRow]] = {}
    for _, row in read_validated_rows(source, _parse_row):
        by_rater.setdefault((row.case_id, row.rater), []).append(row)
    errors: list[str] = []
    pairs = [_judged_pair(*key, rows, errors) for key, rows in by_rater.items()]
    if errors:
        raise_row_errors(source, errors)
    yield from pairs


def _judged_pair(case_id: str, rater: str, rows: list[_SentenceRow], errors: list[str]) -> JudgedPair:
    """Return the scores of a case by one rater, and append messages about invalid rows to `errors`."""
    sides = [[row for row in rows if row.is_candidate is side] for side in (False, True)]
    position = [{row.sentence_id: index for index, row in enumerate(side)} for side in sides]
    label = f"case {case_id!r}, rater {rater!r}"
    for side, rows_of_side in enumerate(sides):
        if len(position[side]) < len(rows_of_side):
            errors.append(f"{label}: Expected different ids for the sentences of a report but got one id twice")
        unknown = [match for row in rows_of_side for match in row.matches if match not in position[1 - side]]
        if unknown:
            errors.append(
                f"{label}: Expected the id of a sentence of the other report but got the match {unknown[0]!r}"
            )
    if not sides[0]:
        errors.append(f"{label}: Expected a sentence of the original report but got none")
    overall = next((row.overall_score for row in rows if row.overall_score is not None), None)
    scores = [
        tuple(
            None
            if row.score is None
            else SentenceScore(row.score, tuple(position[1 - side].get(match, 0) for match in row.matches))
            for row in rows_of_side
        )
        for side, rows_of_side in enumerate(sides)
    ]
    missing = sum(score is None for side in scores for score in side)
    status = f"partial: {missing} sentences without a score" if missing else "ok"
    judgement = SentenceJudgement(scores[0], scores[1], overall, "", {}, status)
    texts = [tuple(row.sentence for row in side) for side in sides]
    return JudgedPair(case_id, rater, texts[0], texts[1], judgement)


def read_sentence_evaluation(source: Path) -> Iterator[RatedPair]:
    """Yield one pair per case: the joined sentences of the original and of the predicted report, and the overall score.

    Columns, in any letter case: Case, Type, ID, Sentence, Overall Score (0 to 5, in at least one row of the case) and
    optionally Rater. The published template labels both reports as original, so the letter case of the ID takes
    precedence: a lower-case letter is the original report, an upper-case letter the predicted one. If the ID is no
    letter, Type (Original or Predicted) is used.

    Args:
        source: A file in any format of `read_rows`.

    Raises:
        InputError: If a row is invalid, or a case lacks the original report or the score.
    """
    cases: dict[str, dict[str, list[_SentenceRow]]] = {}
    for _, row in read_validated_rows(source, _parse_row):
        cases.setdefault(row.case_id, {}).setdefault(row.rater, []).append(row)
    errors: list[str] = []
    pairs = [_case_pair(case_id, by_rater, errors) for case_id, by_rater in cases.items()]
    if errors:
        raise_row_errors(source, errors)
    yield from pairs


def _case_pair(case_id: str, by_rater: Mapping[str, list[_SentenceRow]], errors: list[str]) -> RatedPair:
    """Return the pair of a case, and append messages about invalid rows to `errors`."""
    ratings: dict[str, float] = {}
    reports = set()
    for rater, rows in by_rater.items():
        scores = sorted({row.overall_score for row in rows if row.overall_score is not None})
        if len(scores) != 1:
            listed = " and ".join(f"{score:g}" for score in scores) or "none"
            errors.append(f"case {case_id!r}, rater {rater!r}: Expected one overall score but got {listed}")
        ratings[rater] = scores[0] if scores else 0.0
        reference, candidate = (
            " ".join(row.sentence for row in rows if row.is_candidate is side) for side in (False, True)
        )
        reports.add((reference, candidate))
    reference, candidate = next(iter(reports))
    if len(reports) > 1:
        errors.append(f"case {case_id!r}: Expected the same sentences from all raters but got different ones")
    if not reference:
        errors.append(f"case {case_id!r}: Expected a sentence of the original report but got none")
    return RatedPair(id=case_id, reference=reference, candidate=candidate, group=case_id, ratings=ratings)


def _parse_row(values: Mapping[str, Any]) -> _SentenceRow:
    fields = {str(name).strip().lower().replace("_", " "): value for name, value in values.items()}
    sentence_id = text_field(fields, "id", allow_integer=True).strip()
    kind = text_field(fields, "type").strip().lower()
    if sentence_id.isalpha() and (sentence_id.islower() or sentence_id.isupper()):
        is_candidate = sentence_id.isupper()
    elif kind in _REFERENCE_TYPES | _CANDIDATE_TYPES:
        is_candidate = kind in _CANDIDATE_TYPES
    else:
        raise RowError(f"field 'Type': Expected Original or Predicted but got {fields['type']!r}")
    return _SentenceRow(
        case_id=text_field(fields, "case", allow_integer=True),
        rater=optional_text_field(fields, "rater", allow_integer=True) or MEAN_RATER,
        is_candidate=is_candidate,
        sentence_id=sentence_id,
        sentence=text_field(fields, "sentence"),
        matches=tuple(_MATCH_ID.findall(optional_text_field(fields, "match id") or "")),
        score=_sentence_score(fields),
        overall_score=number_field(fields, "overall score", 0, 5),
    )


def _sentence_score(fields: Mapping[str, Any]) -> float | None:
    score = number_field(fields, "sentence score", -1, 1)
    if score is not None and score not in RELATION_SCORES:
        raise RowError(f"field 'sentence score': Expected -1, 0, 0.5 or 1 but got {score:g}")
    return score
