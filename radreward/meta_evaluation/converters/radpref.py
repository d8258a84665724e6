"""RadPref (CRIMSON, 2026): radiologists judged the findings of each candidate and rated the candidate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from radreward.criteria.presets import RADCLIQ_ERROR_TYPES
from radreward.errors import InputError
from radreward.io.artifacts import read_json
from radreward.io.validated_rows import RowError, number_field, optional_text_field, raise_row_errors, text_field
from radreward.meta_evaluation.rated_pairs import Errors, RatedPair
from radreward.text.patient_context import parse_context

REPORTS_FILE, ANNOTATIONS_FOLDER = "preference_data.json", "radiologist_annotations"
CANDIDATES = ("C1", "C2")
FALSE_FINDING, MISSED_FINDING, WRONG_LOCATION, WRONG_SEVERITY, *_ = (entry.tag for entry in RADCLIQ_ERROR_TYPES)
_ATTRIBUTE_TAGS = {"location": WRONG_LOCATION, "severity": WRONG_SEVERITY}
"""Attributes with an error type of RadCliQ → its tag. The tag of any other attribute is `wrong_` and its name."""
_SIGNIFICANCE = {
    **dict.fromkeys(("significant", "urgent", "actionable", "actionable not urgent", "actionable nonurgent"), True),
    **dict.fromkeys(("negligible", "insignificant", "not actionable", "not actionable not urgent"), False),
    **dict.fromkeys(("benign", "expected", "benign expected"), False),
}
_ErrorCounts = tuple[dict[str, float], dict[str, float]]
"""All errors, and the significant ones, by criterion."""


def read_radpref(source: Path) -> Iterator[RatedPair]:
    """Yield two pairs per reference with the ratings (1 to 5) and the error counts of each radiologist.

    False findings, missed findings, wrong locations and wrong severities are counted as the error types of RadCliQ.
    Other attributes have their own criteria, such as `wrong_measurement`.

    Args:
        source: The folder of `preference_data.json` and `radiologist_annotations/user_K.json`.

    Raises:
        InputError: If a file is missing, or an entry is invalid. The message names file, case and field.
    """
    path = source / REPORTS_FILE
    cases = read_json(path)
    if not isinstance(cases, list) or not cases:
        raise InputError(f"{path}: Expected a list of cases but got {type(cases).__name__}.")
    raters = {file.stem: _read_rater(file) for file in sorted((source / ANNOTATIONS_FOLDER).glob("*.json"))}
    if not raters:
        raise InputError(
            f"{source / ANNOTATIONS_FOLDER}: Expected one JSON file per rater, such as user_1.json, but got none."
        )
    pairs, errors = [], []
    for number, case in enumerate(cases, 1):
        for name in CANDIDATES:
            try:
                pairs.append(_parse_candidate(case, name, raters))
            except RowError as error:
                errors.append(f"case {number}: {error}")
    if errors:
        raise_row_errors(path, errors)
    tags = tuple(dict.fromkeys(tag for pair in pairs for counts in pair.errors.values() for tag in counts))
    for pair in pairs:
        yield replace(
            pair,
            errors=_with_all_tags(pair.errors, tags),
            significant_errors=_with_all_tags(pair.significant_errors, tags),
        )


def _with_all_tags(errors: Errors, tags: Sequence[str]) -> Errors:
    return {rater: {tag: counts.get(tag, 0.0) for tag in tags} for rater, counts in errors.items()}


def _read_rater(path: Path) -> Mapping[str, Any]:
    value = read_json(path)
    annotations = value.get("annotations") if isinstance(value, dict) else None
    if not isinstance(annotations, dict):
        raise InputError(f"{path}: Expected `annotations`, a mapping from case to candidates, but got another value.")
    return annotations


def _parse_candidate(case: Any, name: str, raters: Mapping[str, Mapping[str, Any]]) -> RatedPair:
    values = _mapping(case, "the case")
    case_id = text_field(values, "id", allow_integer=True)
    ratings: dict[str, float] = {}
    counts: dict[str, _ErrorCounts] = {}
    for rater, cases in raters.items():
        field = f"{rater}: {name}"
        judgement = _mapping(_mapping(cases.get(case_id, {}), rater).get(name, {}), field)
        if (rating := number_field(judgement, "rating", 1, 5)) is not None:
            ratings[rater] = rating
        if judgement:
            counts[rater] = _count_errors(judgement, field)
    return RatedPair(
        id=f"{case_id}/{name}",
        reference=text_field(values, "ground_truth_report"),
        candidate=text_field(values, f"{name}_report"),
        group=case_id,
        system=optional_text_field(values, f"{name}_source"),
        ratings=ratings,
        errors={rater: errors for rater, (errors, _) in counts.items()},
        significant_errors={rater: significant for rater, (_, significant) in counts.items()},
        context=parse_context({"age": values.get("PatientAge"), "indication": values.get("Indication")}),
    )


def _count_errors(judgement: Mapping[str, Any], field: str) -> _ErrorCounts:
    errors: dict[str, float] = dict.fromkeys((FALSE_FINDING, MISSED_FINDING, WRONG_LOCATION, WRONG_SEVERITY), 0.0)
    significant = dict(errors)
    for tag, is_significant in _judged_errors(judgement, field):
        errors[tag] = errors.get(tag, 0.0) + 1
        significant[tag] = significant.get(tag, 0.0) + is_significant
    return errors, significant


def _judged_errors(judgement: Mapping[str, Any], field: str) -> Iterator[tuple[str, bool]]:
    """Yield the criterion and significance of each error of a candidate."""
    for where, entry in _entries(judgement, "finding_errors", field):
        kind = entry.get("error_type")
        if kind == "false":
            yield FALSE_FINDING, _is_significant(entry.get("clinical_significance"), where)
        elif kind == "attribute":
            for attribute, value in _mapping(entry.get("attributes") or {}, f"{where}.attributes").items():
                tag = _ATTRIBUTE_TAGS.get(attribute, f"wrong_{re.sub(r'[^a-z0-9]+', '_', attribute.lower())}")
                yield tag, _is_significant(value, f"{where}.attributes.{attribute}")
        else:
            raise RowError(f"field '{where}.error_type': Expected 'false' or 'attribute' but got {kind!r}")
    for where, entry in _entries(judgement, "missing_findings", field):
        yield MISSED_FINDING, _is_significant(entry.get("clinical_significance"), where)


def _entries(values: Mapping[str, Any], name: str, field: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, entry in _mapping(values.get(name) or {}, f"{field}.{name}").items():
        yield f"{field}.{name}.{key}", _mapping(entry, f"{field}.{name}.{key}")


def _mapping(value: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise RowError(f"field {field!r}: Expected a mapping but got {value!r}")
    return value


def _is_significant(value: Any, field: str) -> bool:
    level = re.sub(r"[^a-z]+", " ", str(value).lower()).strip()
    if level not in _SIGNIFICANCE:
        raise RowError(f"field {field!r}: Expected a significance such as 'urgent' or 'benign' but got {value!r}")
    return _SIGNIFICANCE[level]
