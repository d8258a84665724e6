"""ReXVal (Yu et al. 2023): errors of retrieved candidates, counted by six radiologists."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from radreward.criteria.presets import RADCLIQ_ERROR_TYPES
from radreward.io.validated_rows import RowError, number_field, raise_row_errors, read_validated_rows, text_field
from radreward.meta_evaluation.rated_pairs import RatedPair

REPORTS_FILE = "50_samples_gt_and_candidates.csv"
COUNTS_FILE = "6_valid_raters_per_rater_error_categories.csv"
SYSTEMS = ("radgraph", "bertscore", "s_emb", "bleu")
"""Metrics with which candidates were retrieved; each metric is a column of candidates."""
CATEGORY_TAGS = tuple(criterion.tag for criterion in RADCLIQ_ERROR_TYPES)
"""Criteria of the error categories 1 to 6."""
_FLAGS = {"true": True, "1": True, "1.0": True, "yes": True, "false": False, "0": False, "0.0": False, "no": False}


class _Study(NamedTuple):
    study_id: str
    reference: str
    candidates: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ErrorCount:
    study: int
    system: str
    rater: str
    tag: str
    significant: bool
    errors: float | None


def read_rexval(source: Path) -> Iterator[RatedPair]:
    """Yield four pairs per reference with the error counts of each rater.

    Args:
        source: The folder of the two files. If there is no row for a rater and category, the count is missing, not 0.

    Raises:
        InputError: If a file is missing or a row is invalid.
    """
    studies = [study for _, study in read_validated_rows(source / REPORTS_FILE, _parse_study)]
    table: dict[tuple[int, str], dict[str, dict[tuple[str, bool], float]]] = {}
    errors = []
    for number, count in read_validated_rows(source / COUNTS_FILE, _parse_count):
        if count.study >= len(studies):
            errors.append(
                f"row {number}: field 'study_number': Expected a row of {REPORTS_FILE}, 0 to {len(studies) - 1}, "
                f"but got {count.study}"
            )
            continue
        cells = table.setdefault((count.study, count.system), {}).setdefault(count.rater, {})
        if (count.tag, count.significant) in cells:
            errors.append(f"row {number}: Expected one count per rater, category and significance but got a second one")
        cells[count.tag, count.significant] = math.nan if count.errors is None else count.errors
    if errors:
        raise_row_errors(source / COUNTS_FILE, errors)
    for index, study in enumerate(studies):
        for system, candidate in study.candidates.items():
            raters = table.get((index, system), {})
            yield RatedPair(
                id=f"{study.study_id}/{system}",
                reference=study.reference,
                candidate=candidate,
                group=study.study_id,
                system=system,
                errors={rater: _sums(cells, (True, False)) for rater, cells in raters.items()},
                significant_errors={rater: _sums(cells, (True,)) for rater, cells in raters.items()},
            )


def _sums(cells: Mapping[tuple[str, bool], float], levels: Sequence[bool]) -> dict[str, float]:
    """Return the errors of each category, summed over significance; NaN if a count is missing."""
    return {tag: sum(cells.get((tag, level), math.nan) for level in levels) for tag in CATEGORY_TAGS}


def _parse_study(values: Mapping[str, Any]) -> _Study:
    candidates = {system: text_field(values, system) for system in SYSTEMS}
    return _Study(text_field(values, "study_id", allow_integer=True), text_field(values, "gt_report"), candidates)


def _parse_count(values: Mapping[str, Any]) -> _ErrorCount:
    system = text_field(values, "candidate_type")
    if system not in SYSTEMS:
        raise RowError(f"field 'candidate_type': Expected one of {', '.join(SYSTEMS)} but got {system!r}")
    significant = text_field(values, "clinically_significant").lower()
    if significant not in _FLAGS:
        raise RowError(f"field 'clinically_significant': Expected true or false but got {significant!r}")
    return _ErrorCount(
        study=_integer_field(values, "study_number", 0, 10**6),
        system=system,
        rater=text_field(values, "rater_index"),
        tag=CATEGORY_TAGS[_integer_field(values, "error_category", 1, len(CATEGORY_TAGS)) - 1],
        significant=_FLAGS[significant],
        errors=number_field(values, "num_errors", 0, 1000),
    )


def _integer_field(values: Mapping[str, Any], name: str, minimum: int, maximum: int) -> int:
    value = number_field(values, name, minimum, maximum)
    if value is None or value != int(value):
        raise RowError(f"field {name!r}: Expected an integer from {minimum} to {maximum} but got {values.get(name)!r}")
    return int(value)
