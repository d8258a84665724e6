"""RaTE-Eval (RaTEScore, section 3): sentences with error counts, rated paragraphs, and triads.

The published columns of sentences and triads could not be confirmed. The readers expect the columns of paragraphs for
sentences, and `original`, `rewrite` and `opposite` for triads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from radreward.io.validated_rows import read_validated_rows, required_number_field, text_field
from radreward.meta_evaluation.preferences import Preference
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, RatedPair, group_by_reference
from radreward.prompts.parsing import MAX_COUNT

REFERENCE_COLUMN, CANDIDATE_COLUMN, SCORE_COLUMN = "gt_report", "similar_report", "Score"
"""Published columns of paragraphs."""
_MAX_ERRORS_COLUMN = "possible"
"""Optional column of sentences: the number of possible errors. With it, the score is a plain count."""
MAX_RATING = 5.0


def read_sentence_task(source: Path) -> Iterator[RatedPair]:
    """Return the pairs of task 1. The rating is 1 - (number of errors) / (number of possible errors).

    Args:
        source: A file in any format of `read_rows`, with the columns `gt_report`, `similar_report` and `Score`. The
            score is the number of errors divided by the number of possible errors, from 0 to 1; with a column
            `possible`, which is the number of possible errors, it is the number of errors.

    Raises:
        InputError: If a row is invalid.
    """

    def rating(values: Mapping[str, Any]) -> float:
        has_counts = _MAX_ERRORS_COLUMN in values
        max_errors = required_number_field(values, _MAX_ERRORS_COLUMN, 1, MAX_COUNT) if has_counts else 1.0
        return 1 - required_number_field(values, SCORE_COLUMN, 0, max_errors) / max_errors

    return _rated_pairs(source, rating)


def read_paragraph_task(source: Path) -> Iterator[RatedPair]:
    """Return the pairs of task 2, rated from 0 to 5.

    Args:
        source: A file in any format of `read_rows`, with the columns `gt_report`, `similar_report` and `Score`.

    Raises:
        InputError: If a row is invalid.
    """
    return _rated_pairs(source, lambda values: required_number_field(values, SCORE_COLUMN, 0, MAX_RATING))


def read_triad_task(source: Path) -> Iterator[Preference]:
    """Yield the triads of task 3 as preferences: the rewrite is preferred to the opposite.

    Args:
        source: A file in any format of `read_rows`, with the columns `original`, `rewrite` and `opposite`.

    Raises:
        InputError: If a row is invalid.
    """
    columns = ("original", "rewrite", "opposite")
    for number, texts in read_validated_rows(source, lambda values: [text_field(values, name) for name in columns]):
        original, rewrite, opposite = texts
        yield Preference(
            id=str(number),
            reference=original,
            candidate_a=rewrite,
            candidate_b=opposite,
            preferred="a",
            group=original,
        )


def _rated_pairs(source: Path, rating_of: Callable[[Mapping[str, Any]], float]) -> Iterator[RatedPair]:
    def parse(values: Mapping[str, Any]) -> RatedPair:
        return RatedPair(
            id="",
            reference=text_field(values, REFERENCE_COLUMN),
            candidate=text_field(values, CANDIDATE_COLUMN),
            group="",
            ratings={MEAN_RATER: rating_of(values)},
        )

    return group_by_reference(replace(row, id=str(number)) for number, row in read_validated_rows(source, parse))
