"""Cases to rate, from a table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.io.validated_rows import optional_text_field, read_validated_rows, text_field
from radreward.meta_evaluation.converters.rating_key import RatingCase

_SIGNIFICANCE_PREFIXES = ("significant_", "insignificant_")


def read_cases(path: Path) -> list[RatingCase]:
    """Read the columns id, reference, candidate and, if present, group and system.

    Raises:
        InputError: If the file cannot be read or is empty, a row is invalid, or an id is there twice. The
            message names the file and the row.
    """
    return [case for _, case in read_validated_rows(path, _parse_case, lambda case: case.id)]


def _parse_case(values: Mapping[str, Any]) -> RatingCase:
    return RatingCase(
        text_field(values, "id", allow_integer=True),
        text_field(values, "reference"),
        text_field(values, "candidate"),
        optional_text_field(values, "group", allow_integer=True),
        optional_text_field(values, "system"),
    )


def check_error_types(criteria: Criteria) -> None:
    """Check that criteria are types of errors without significance; raters state the significance of each error.

    Raises:
        InputError: If a criterion is a rating, or names a significance.
    """
    for criterion in criteria.criteria:
        if criterion.kind == "rating" or criterion.tag.startswith(_SIGNIFICANCE_PREFIXES):
            raise InputError(
                f"--criteria: Expected types of errors but got {criterion.tag!r}; raters state ratings and the "
                "significance of each error anyway. Use radcliq."
            )
