"""Rad-100 (ER²Score, section 4.1): seven yes/no errors of a candidate, and the total that they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from radreward.criteria import MRScoreCriteria
from radreward.data.records import RowError, text_field
from radreward.io.validated_rows import number_field, read_validated_rows
from radreward.meta_evaluation.rated_pairs_io import MEAN_RATER, RatedPair


def read_rad100(source: Path) -> Iterator[RatedPair]:
    """A pair for each row, rated by its total: 100 less the weights of the errors made.

    Rows have `reference`, `candidate`, the criteria of `mrscore` by their tags, 1 for an error and 0 for none, and, if
    wanted, `id` and `system`.

    Args:
        source: JSONL, CSV or Parquet.

    Raises:
        InputError: If there are rows that cannot be used.
    """
    own: dict[str, str] = {}
    for number, row in read_validated_rows(source, _parse_row):
        name = row.id or str(number)
        yield row._replace(id=name, group=own.setdefault(row.reference, name))


def _parse_row(values: Mapping[str, Any]) -> RatedPair:
    criteria = MRScoreCriteria()
    errors = {}
    for tag in criteria.tags:
        if tag not in values:
            raise RowError(f"field {tag!r}: expected a column of this name")
        value = number_field(values, tag, 0, 1)
        if value not in (0, 1):
            raise RowError(f"field {tag!r}: expected 1 for an error or 0 for none but got {values[tag]!r}")
        errors[tag] = value
    name = text_field(values, "id", allow_integer=True) if "id" in values else ""
    system = text_field(values, "system") if values.get("system") else None
    total = criteria.max_total - criteria.weighted_errors(errors)
    reference, candidate = text_field(values, "reference"), text_field(values, "candidate")
    return RatedPair(name, reference, candidate, "", system, {MEAN_RATER: total}, {MEAN_RATER: errors})
