"""Reports that were judged sentence by sentence (Zhu et al. 2024), with an overall score for each case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from radreward.data.records import RowError, text_field
from radreward.io.validated_rows import number_field, raise_row_errors, read_validated_rows
from radreward.meta_evaluation.rated_pairs_io import MEAN_RATER, RatedPair

_REFERENCE_TYPES = frozenset({"original", "reference"})
_CANDIDATE_TYPES = frozenset({"predicted", "prediction", "candidate"})


class _SentenceRow(NamedTuple):
    case_id: str
    rater: str
    is_candidate: bool
    sentence: str
    overall_score: float | None


def read_sentence_evaluation(source: Path) -> Iterator[RatedPair]:
    """A pair for each case: the original's sentences one after the other, the predicted ones, and the overall score.

    The columns are Case, Type, ID, Sentence and Overall Score (0 to 5, in some row of the case), in any case of
    letters; a column Rater tells several annotators apart, Match ID, Sentence Score and Explanation may be there. What
    side a sentence is on is told by its ID where that is of letters, small ones for the original, because the published
    template calls both sides original; else by Type.

    Args:
        source: CSV, JSONL or Parquet.

    Raises:
        InputError: If there are rows that cannot be used, or a case lacks a side or the score.
    """
    cases: dict[str, dict[str, list[_SentenceRow]]] = {}
    for _, line in read_validated_rows(source, _parse_row):
        cases.setdefault(line.case_id, {}).setdefault(line.rater, []).append(line)
    problems, pairs = [], []
    for case, by_rater in cases.items():
        ratings: dict[str, float] = {}
        sides = set()
        for rater, lines in by_rater.items():
            told = {line.overall_score for line in lines if line.overall_score is not None}
            if len(told) != 1:
                found = " and ".join(f"{value:g}" for value in sorted(told)) or "none"
                problems.append(f"case {case!r}, rater {rater!r}: expected one overall score but got {found}")
            ratings[rater] = next(iter(told), 0.0)
            sides.add(
                tuple(" ".join(line.sentence for line in lines if line.is_candidate is side) for side in (False, True))
            )
        reference, candidate = next(iter(sides))
        if len(sides) > 1:
            problems.append(f"case {case!r}: expected the same sentences from all raters")
        if not reference:
            problems.append(f"case {case!r}: expected a sentence of the original report")
        pairs.append(RatedPair(case, reference, candidate, case, None, ratings))
    if problems:
        raise_row_errors(source, problems)
    yield from pairs


def _parse_row(values: Mapping[str, Any]) -> _SentenceRow:
    known = {str(name).strip().lower().replace("_", " "): value for name, value in values.items()}
    mark = text_field(known, "id", allow_integer=True).strip()
    kind = text_field(known, "type").strip().lower()
    if mark.isalpha() and (mark.islower() or mark.isupper()):
        predicted = mark.isupper()
    elif kind in _REFERENCE_TYPES | _CANDIDATE_TYPES:
        predicted = kind in _CANDIDATE_TYPES
    else:
        raise RowError(f"field 'Type': expected Original or Predicted but got {known['type']!r}")
    rater = text_field(known, "rater", allow_integer=True) if known.get("rater") not in (None, "") else MEAN_RATER
    overall = number_field(known, "overall score", 0, 5)
    return _SentenceRow(
        text_field(known, "case", allow_integer=True), rater, predicted, text_field(known, "sentence"), overall
    )
