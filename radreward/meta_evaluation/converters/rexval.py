"""ReXVal (Yu et al. 2023): errors of candidates that metrics retrieved, counted by six radiologists."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from radreward.criteria.presets import RADCLIQ_ERROR_TYPES
from radreward.data.records import RowError, text_field
from radreward.io.validated_rows import number_field, raise_row_errors, read_validated_rows
from radreward.meta_evaluation.rated_pairs_io import RatedPair

REPORTS_FILE = "50_samples_gt_and_candidates.csv"
COUNTS_FILE = "6_valid_raters_per_rater_error_categories.csv"
SYSTEMS = ("radgraph", "bertscore", "s_emb", "bleu")
"""The metric by which a candidate was retrieved: a column of candidates each."""
CATEGORY_TAGS = tuple(criterion.tag for criterion in RADCLIQ_ERROR_TYPES)
"""Error categories 1 to 6."""
_TRUE_VALUES, _FALSE_VALUES = frozenset({"true", "1", "1.0", "yes"}), frozenset({"false", "0", "0.0", "no"})


class _Study(NamedTuple):
    study_id: str
    reference: str
    candidates: dict[str, str]


class _ErrorCount(NamedTuple):
    study: int
    system: str
    rater: str
    tag: str
    significant: bool
    errors: float | None


def read_rexval(source: Path) -> Iterator[RatedPair]:
    """Four candidates for each of the references, with the errors that each rater counted.

    Args:
        source: The folder of the two files. A rater's category for which there is no row is one that nobody counted.

    Raises:
        InputError: If a file is missing or has rows that cannot be used.
    """
    studies = [study for _, study in read_validated_rows(source / REPORTS_FILE, _parse_study)]
    table: dict[tuple[int, str], dict[str, dict[tuple[str, bool], float]]] = {}
    problems = []
    for number, count in read_validated_rows(source / COUNTS_FILE, _parse_count):
        if count.study >= len(studies):
            expected = f"a row of {REPORTS_FILE}, 0 to {len(studies) - 1},"
            problems.append(f"row {number}: field 'study_number': expected {expected} but got {count.study}")
            continue
        cells = table.setdefault((count.study, count.system), {}).setdefault(count.rater, {})
        if (count.tag, count.significant) in cells:
            problems.append(f"row {number}: expected no second count of this rater, category and significance")
        cells[count.tag, count.significant] = math.nan if count.errors is None else count.errors
    if problems:
        raise_row_errors(source / COUNTS_FILE, problems)
    for place, study in enumerate(studies):
        for system, candidate in study.candidates.items():
            raters = table.get((place, system), {})
            errors = {
                rater: {tag: _total_errors(cells, tag) for tag in CATEGORY_TAGS} for rater, cells in raters.items()
            }
            significant = {
                rater: {tag: cells.get((tag, True), math.nan) for tag in CATEGORY_TAGS}
                for rater, cells in raters.items()
            }
            yield RatedPair(
                f"{study.study_id}/{system}",
                study.reference,
                candidate,
                study.study_id,
                system,
                {},
                errors,
                significant,
            )


def _total_errors(cells: Mapping[tuple[str, bool], float], tag: str) -> float:
    return cells.get((tag, True), math.nan) + cells.get((tag, False), math.nan)


def _parse_study(values: Mapping[str, Any]) -> _Study:
    candidates = {system: text_field(values, system) for system in SYSTEMS}
    return _Study(text_field(values, "study_id", allow_integer=True), text_field(values, "gt_report"), candidates)


def _parse_count(values: Mapping[str, Any]) -> _ErrorCount:
    system = text_field(values, "candidate_type")
    if system not in SYSTEMS:
        raise RowError(f"field 'candidate_type': expected one of {', '.join(SYSTEMS)} but got {system!r}")
    significant = text_field(values, "clinically_significant").lower()
    if significant not in _TRUE_VALUES | _FALSE_VALUES:
        raise RowError(f"field 'clinically_significant': expected true or false but got {significant!r}")
    return _ErrorCount(
        _integer_field(values, "study_number", 0, 10**6),
        system,
        text_field(values, "rater_index"),
        CATEGORY_TAGS[_integer_field(values, "error_category", 1, len(CATEGORY_TAGS)) - 1],
        significant in _TRUE_VALUES,
        number_field(values, "num_errors", 0, 1000),
    )


def _integer_field(values: Mapping[str, Any], name: str, minimum: int, maximum: int) -> int:
    value = number_field(values, name, minimum, maximum)
    if value is None or value != int(value):
        raise RowError(
            f"field {name!r}: expected a whole number from {minimum} to {maximum} but got {values.get(name)!r}"
        )
    return int(value)
