"""Reports that were judged sentence by sentence (Zhu et al. 2024), with an overall score for each case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from radreward.data.records import RowError, text_field
from radreward.io.validated_rows import number_field, read_checked, refuse
from radreward.meta_evaluation.rated_pairs_io import MEAN, RatedPair

_ORIGINAL = frozenset({"original", "reference"})
_PREDICTED = frozenset({"predicted", "prediction", "candidate"})


class _Line(NamedTuple):
    case: str
    rater: str
    predicted: bool
    sentence: str
    overall: float | None


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
    cases: dict[str, dict[str, list[_Line]]] = {}
    for _, line in read_checked(source, _line):
        cases.setdefault(line.case, {}).setdefault(line.rater, []).append(line)
    problems, pairs = [], []
    for case, by_rater in cases.items():
        ratings: dict[str, float] = {}
        sides = set()
        for rater, lines in by_rater.items():
            told = {line.overall for line in lines if line.overall is not None}
            if len(told) != 1:
                found = " and ".join(f"{value:g}" for value in sorted(told)) or "none"
                problems.append(f"case {case!r}, rater {rater!r}: expected one overall score but got {found}")
            ratings[rater] = next(iter(told), 0.0)
            sides.add(
                tuple(" ".join(line.sentence for line in lines if line.predicted is side) for side in (False, True))
            )
        reference, candidate = next(iter(sides))
        if len(sides) > 1:
            problems.append(f"case {case!r}: expected the same sentences from all raters")
        if not reference:
            problems.append(f"case {case!r}: expected a sentence of the original report")
        pairs.append(RatedPair(case, reference, candidate, case, None, ratings))
    if problems:
        refuse(source, problems)
    yield from pairs


def _line(values: Mapping[str, Any]) -> _Line:
    known = {str(name).strip().lower().replace("_", " "): value for name, value in values.items()}
    mark = text_field(known, "id", number=True).strip()
    kind = text_field(known, "type").strip().lower()
    if mark.isalpha() and (mark.islower() or mark.isupper()):
        predicted = mark.isupper()
    elif kind in _ORIGINAL | _PREDICTED:
        predicted = kind in _PREDICTED
    else:
        raise RowError(f"field 'Type': expected Original or Predicted but got {known['type']!r}")
    rater = text_field(known, "rater", number=True) if known.get("rater") not in (None, "") else MEAN
    overall = number_field(known, "overall score", 0, 5)
    return _Line(text_field(known, "case", number=True), rater, predicted, text_field(known, "sentence"), overall)
