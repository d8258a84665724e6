"""Explained scores of reports: from a scorer, or from files written by `radreward score`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.io.numbers import finite_or_none
from radreward.io.tables import is_valid_utf8, read_rows
from radreward.io.validated_rows import (
    RowError,
    number_field,
    optional_text_field,
    parse_json_cell,
    read_validated_rows,
    text_field,
)
from radreward.prompts.parsing import MAX_COUNT
from radreward.scorers.explanation import Explanation
from radreward.scorers.status import SCORED_STATUSES
from radreward.types import Scores

_SCORE_COLUMNS = ("total", "evidence", "status")
"""Columns of a scorer; in a file with several scorers they start with its name, as in `green_total`."""
INSIGNIFICANT_PREFIX = "insignificant_"
"""Prefix of insignificant categories in `Explanation.errors`."""
_MAX_SCORE = 1e9


class ReportExplanation(NamedTuple):
    """Explained score of one report."""

    report_id: str
    system: str | None
    """Report generator."""
    total: float | None
    """Score; None if unavailable."""
    status: str
    explanation: Explanation | None
    """None if the model got no prompt for this report."""


def explanations_from_scores(
    scores: Scores, ids: Sequence[str], systems: Sequence[str | None] | None = None
) -> list[ReportExplanation]:
    """Return the explained scores of n reports by a scorer that returns explanations, such as GREEN or RadReason.

    Args:
        scores: Scores of n candidates.
        ids: n ids of reports.
        systems: Report generator of each candidate.

    Raises:
        ValueError: If there are not n ids or systems, or the scorer returns no explanations.
        InputError: If two answers count different categories of errors.
    """
    evidence = scores.evidence or ()
    generators = [None] * len(ids) if systems is None else list(systems)
    for name, length in (("ids", len(ids)), ("systems", len(generators)), ("evidence", len(evidence))):
        if length != len(scores.status):
            raise ValueError(f"Expected `{name}` of {len(scores.status)} reports but got {length}.")
    if invalid := [entry for entry in evidence if entry is not None and not isinstance(entry, Explanation)]:
        raise ValueError(f"Expected a scorer that returns explanations but got {type(invalid[0]).__name__}.")
    totals = list(map(finite_or_none, scores.total.tolist()))
    reports = list(map(ReportExplanation, ids, generators, totals, scores.status, evidence))
    check_categories(reports, lambda index: f"`evidence` of report {reports[index].report_id!r}")
    return reports


def read_explanations(
    path: str | Path, system: str | None = None, scorer: str | None = None
) -> list[ReportExplanation]:
    """Return the explained scores in a file of `radreward score`.

    Args:
        path: File with the columns `id`, `total`, `evidence`, `status` and, for several systems, `system`.
        system: System of rows without one.
        scorer: Scorer in a file with explanations of several, whose columns start with its name.

    Raises:
        InputError: If the file cannot be read, has no row, lacks columns or has invalid rows, or `scorer` is missing
            or unknown. The message names the row and the field.
    """
    prefix = _column_prefix(path, scorer)
    rows = list(read_validated_rows(path, lambda values: _parse_row(values, prefix, system)))
    reports = [report for _, report in rows]
    check_categories(reports, lambda index: f"{path}: row {rows[index][0]}: field 'evidence'")
    return reports


def check_categories(explanations: Sequence[ReportExplanation], locate: Callable[[int], str]) -> None:
    """Check that all answers count the same categories of errors.

    Raises:
        InputError: If two answers differ. `locate` returns the location of an explanation, given its index.
    """
    first: set[str] | None = None
    for index, report in enumerate(explanations):
        if report.explanation is None:
            continue
        insignificant = {INSIGNIFICANT_PREFIX + tag for tag in report.explanation.insignificant}
        categories = insignificant.union(report.explanation.significant)
        first = categories if first is None else first
        if categories != first:
            expected, got = (", ".join(sorted(entry)) or "nothing" for entry in (first, categories))
            raise InputError(
                f"{locate(index)}: Expected errors of {expected}, as in the first answer, but got {got}. "
                "Summarize the answers of one model only."
            )


def _column_prefix(path: str | Path, scorer: str | None) -> str:
    """Return the start of the column names of a scorer: empty in a file with one scorer."""
    columns = next((row.values for batch in read_rows(path) for row in batch if not row.error), None)
    if columns is None:  # no row, or invalid rows only, which the reader of rows reports
        return ""
    prefixes = [name.removesuffix("evidence") for name in columns if name == "evidence" or name.endswith("_evidence")]
    names = [prefix.removesuffix("_") for prefix in prefixes]
    if scorer is not None and scorer in names:
        prefixes = [f"{scorer}_"]
    elif scorer is not None or len(prefixes) > 1:
        got = " and ".join(filter(None, names)) or "one scorer, without its name in the columns: leave out --scorer"
        raise InputError(
            f"{path}: Expected the explanations of {scorer or 'one scorer'} but the file has those of {got}."
            + (f" Choose one, as in --scorer {names[0]}." if names and names[0] else "")
        )
    prefix = prefixes[0] if prefixes else ""
    if missing := [name for name in ("id", *(prefix + name for name in _SCORE_COLUMNS)) if name not in columns]:
        raise InputError(
            f"{path}: Expected a column {missing[0]!r} but there is none. Score pairs that have ids with a scorer that "
            "explains its scores, as in `radreward score --scorers radreason`."
        )
    return prefix


def _parse_row(values: Mapping[str, Any], prefix: str, system: str | None) -> ReportExplanation:
    values = {**values, **{name: values.get(prefix + name) for name in _SCORE_COLUMNS}}
    status = text_field(values, "status")
    total = number_field(values, "total", -_MAX_SCORE, _MAX_SCORE)
    explanation = _parse_explanation(values["evidence"])
    if status in SCORED_STATUSES:
        if total is None:
            raise RowError(f"field 'total': Expected a finite number, since the status is {status!r}")
        if explanation is None:
            raise RowError(f"field 'evidence': Expected an explanation, since the status is {status!r}")
        report_id = text_field(values, "id", allow_integer=True)
    else:  # a rejected report needs no id
        report_id = optional_text_field(values, "id", allow_integer=True) or ""
    generator = optional_text_field(values, "system", allow_integer=True) or system
    return ReportExplanation(report_id, generator, total, status, explanation)


def _parse_explanation(value: Any) -> Explanation | None:
    fields = parse_json_cell(value, "evidence")
    if fields is None:
        return None
    if not isinstance(fields, Mapping):
        raise RowError(f"field 'evidence': Expected an object but got {type(fields).__name__}")
    if wrong := sorted(set(fields) ^ set(Explanation._fields)):
        raise RowError(f"field 'evidence': {wrong[0]!r} is missing or unknown; score with a model with explanations")
    significant, insignificant = (_parse_counts(fields[name], name) for name in ("significant", "insignificant"))
    keys = {*significant, *(INSIGNIFICANT_PREFIX + tag for tag in insignificant)}
    errors = fields["errors"]
    if not isinstance(errors, Mapping) or not keys.issuperset(errors):
        raise RowError("field 'evidence.errors': Expected lists of texts by counted category")
    return Explanation(
        raw_answer=_parse_text(fields["raw_answer"], "raw_answer"),
        finish_reason=_parse_text(fields["finish_reason"], "finish_reason"),
        format_error=None if fields["format_error"] is None else _parse_text(fields["format_error"], "format_error"),
        explanation=None if fields["explanation"] is None else _parse_text(fields["explanation"], "explanation"),
        significant=significant,
        insignificant=insignificant,
        errors={key: tuple(_parse_texts(texts, f"errors.{key}")) for key, texts in errors.items()},
        num_matched=None if fields["num_matched"] is None else _parse_count(fields["num_matched"], "num_matched"),
        matched_findings=tuple(_parse_texts(fields["matched_findings"], "matched_findings")),
    )


def _parse_counts(value: Any, name: str) -> dict[str, float | None]:
    if not isinstance(value, Mapping):
        raise RowError(f"field 'evidence.{name}': Expected counts by category but got {value!r}")
    return {
        _parse_text(tag, name): None if count is None else _parse_count(count, f"{name}.{tag}")
        for tag, count in value.items()
    }


def _parse_count(value: Any, name: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MAX_COUNT:  # false for NaN too
        raise RowError(f"field 'evidence.{name}': Expected a number from 0 to {MAX_COUNT:,} but got {value!r}")
    return float(value)


def _parse_texts(value: Any, name: str) -> Iterator[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise RowError(f"field 'evidence.{name}': Expected a list of texts but got {value!r}")
    yield from (_parse_text(entry, name) for entry in value)


def _parse_text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not is_valid_utf8(value):
        raise RowError(f"field 'evidence.{name}': Expected a text in UTF-8 but got {value!r}")
    return value
