"""Rad-100 (ER²Score, section 4.1): seven binary errors per candidate, and the total score computed from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from radreward.criteria import MRScoreCriteria
from radreward.io.validated_rows import RowError, number_field, optional_text_field, read_validated_rows, text_field
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, RatedPair, group_by_reference


def read_rad100(source: Path) -> Iterator[RatedPair]:
    """Return one pair per row. Its rating is the total score, which is 100 minus the weights of its errors.

    Rows have `reference`, `candidate`, one column per criterion of `mrscore`, named by its tag (1 for an error, 0 for
    none), and optionally `id` and `system`.

    Args:
        source: A file in any format of `read_rows`.

    Raises:
        InputError: If a row is invalid.
    """
    rows = read_validated_rows(source, _parse_row)
    return group_by_reference(replace(row, id=row.id or str(number)) for number, row in rows)


def _parse_row(values: Mapping[str, Any]) -> RatedPair:
    criteria = MRScoreCriteria()
    errors = {}
    for tag in criteria.tags:
        if tag not in values:
            raise RowError(f"field {tag!r}: Expected a column of this name")
        value = number_field(values, tag, 0, 1)
        if value not in (0, 1):
            raise RowError(f"field {tag!r}: Expected 1 for an error or 0 for none but got {values[tag]!r}")
        errors[tag] = value
    return RatedPair(
        id=optional_text_field(values, "id", allow_integer=True) or "",
        reference=text_field(values, "reference"),
        candidate=text_field(values, "candidate"),
        group="",
        system=optional_text_field(values, "system"),
        ratings={MEAN_RATER: criteria.max_total - criteria.weighted_errors(errors)},
        errors={MEAN_RATER: errors},
    )
