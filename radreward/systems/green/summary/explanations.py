"""What a model said of each report, from scores or from files of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from radreward.data.records import RowError, text_field
from radreward.errors import InputError
from radreward.io.tables import is_valid_utf8, read_rows
from radreward.scorers.base import SCORED_STATUSES
from radreward.types import Explanation, Scores

REQUIRED_COLUMNS = ("id", "total", "evidence", "status")
INSIGNIFICANT_PREFIX = "insignificant_"
"""How the key of errors that do not matter begins, in `Explanation.errors`."""


class ReportExplanation(NamedTuple):
    """What a model said of one report."""

    report_id: str
    system: str | None
    """Who or what wrote the report."""
    total: float | None
    """Its score; None where it has none."""
    status: str
    """Why that is so."""
    explanation: Explanation | None
    """None where the model was not asked."""


def explanations_from_scores(
    scores: Scores, ids: Sequence[str], systems: Sequence[str | None] | None = None
) -> list[ReportExplanation]:
    """What a scorer that explains said of n reports.

    Raises:
        ValueError: If there are not n ids or systems, or the evidence is not that of a scorer that explains.
    """
    evidence = scores.evidence or ()
    writers = [None] * len(ids) if systems is None else list(systems)
    for name, length in (("ids", len(ids)), ("systems", len(writers)), ("evidence", len(evidence))):
        if length != len(scores.status):
            raise ValueError(f"Expected `{name}` of {len(scores.status)} reports but got {length}.")
    if wrong := [entry for entry in evidence if entry is not None and not isinstance(entry, Explanation)]:
        raise ValueError(f"Expected evidence of a scorer that explains but got {type(wrong[0]).__name__}.")
    totals = [None if math.isnan(total) else float(total) for total in scores.total.tolist()]
    found = list(map(ReportExplanation, ids, writers, totals, scores.status, evidence))
    check_categories(found, lambda number: f"`evidence` of report {found[number].report_id!r}")
    return found


def read_explanations(path: str | Path, system: str | None = None) -> list[ReportExplanation]:
    """What `radreward score` wrote of reports, with a model that explains: JSONL, CSV or Parquet.

    Args:
        path: The file: `id`, `total`, `evidence` and `status`, and `system` where several systems wrote the reports.
        system: Whose reports these are where a row does not say.

    Raises:
        InputError: At the first row that cannot be used; the message names file, row, field and what was expected.
    """
    found: list[ReportExplanation] = []
    numbers: list[int] = []
    for row in (row for batch in read_rows(path) for row in batch):
        try:
            if row.error:
                raise RowError(row.error)
            found.append(_parse_row(row.values, system))
            numbers.append(row.number)
        except RowError as error:
            raise InputError(f"{path}, row {row.number}: {error}.") from error
    if not found:
        raise InputError(f"{path}: Expected at least one row but there is none.")
    check_categories(found, lambda place: f"{path}, row {numbers[place]}, field 'evidence'")
    return found


def check_categories(explanations: Sequence[ReportExplanation], locate: Callable[[int], str]) -> None:
    """See that all answers count the same categories of errors.

    Args:
        reasons: All of them.
        where: Names the one at a place, for the message.

    Raises:
        InputError: If two answers differ.
    """
    kinds = [None if entry.explanation is None else _categories(entry.explanation) for entry in explanations]
    first = next((kind for kind in kinds if kind is not None), None)
    for place, kind in enumerate(kinds):
        if kind is not None and kind != first:
            expected, given = (", ".join(sorted(set(entry[0]) | set(entry[1]))) for entry in (first or ((), ()), kind))
            raise InputError(
                f"{locate(place)}: Expected errors of {expected or 'nothing'}, as in the first answer, but got "
                f"{given or 'nothing'}; a summary is of the answers of one model."
            )


def _categories(explanation: Explanation) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(explanation.significant), frozenset(explanation.insignificant)


def _parse_row(values: Mapping[str, Any], system: str | None) -> ReportExplanation:
    if missing := [name for name in REQUIRED_COLUMNS if name not in values]:
        raise RowError(
            f"field {missing[0]!r}: expected a column of this name, "
            "as `radreward score` writes for a model that explains"
        )
    status = text_field(values, "status")
    total, said = _parse_total(values["total"]), _parse_explanation(values["evidence"])
    if status in SCORED_STATUSES and (total is None or said is None):
        field, what = ("total", "a finite number") if total is None else ("evidence", "what the model said")
        raise RowError(f"field {field!r}: expected {what}, since the status is {status!r}")
    # A report without an id was rejected by the scorer and is counted all the same.
    name = (
        ""
        if status not in SCORED_STATUSES and values["id"] in (None, "")
        else text_field(values, "id", allow_integer=True)
    )
    given = values.get("system")
    if given is not None and not isinstance(given, int | str):
        raise RowError(f"field 'system': expected a text but got {given!r}")
    writer = str(given) if given not in (None, "") else system
    if writer is not None and not is_valid_utf8(writer):
        raise RowError("field 'system': expected UTF-8 text")
    return ReportExplanation(name, writer, total, status, said)


def _parse_total(value: Any) -> float | None:
    if value in (None, ""):
        return None
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise RowError(f"field 'total': expected a finite number but got {value!r}")
    return number


def _parse_explanation(value: Any) -> Explanation | None:
    if value in (None, ""):
        return None
    try:
        given = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise RowError(f"field 'evidence': expected JSON ({error})") from error
    if not isinstance(given, Mapping):
        raise RowError(f"field 'evidence': expected an object but got {type(given).__name__}")
    if wrong := sorted(set(given) ^ set(Explanation._fields)):
        raise RowError(f"field 'evidence': {wrong[0]!r} is missing or unknown; score with a model that explains")
    for name in ("answer", "finish"):
        _parse_text(given[name], name)
    for name in ("problem", "explanation"):
        if given[name] is not None:
            _parse_text(given[name], name)
    counts = [_parse_counts(given[name], name) for name in ("significant", "insignificant")]
    keys = {*counts[0], *(INSIGNIFICANT_PREFIX + tag for tag in counts[1])}
    if not isinstance(given["errors"], Mapping) or not keys.issuperset(given["errors"]):
        raise RowError("field 'evidence.errors': expected lists of texts by the categories that are counted")
    errors = {key: tuple(_parse_texts(words, f"errors.{key}")) for key, words in given["errors"].items()}
    matched = None if given["matched"] is None else _parse_count(given["matched"], "matched")
    findings = tuple(_parse_texts(given["findings"], "findings"))
    return Explanation(**{**given, "significant": counts[0], "insignificant": counts[1]})._replace(
        errors=errors, num_matched=matched, matched_findings=findings
    )


def _parse_counts(value: Any, name: str) -> dict[str, float | None]:
    if not isinstance(value, Mapping):
        raise RowError(f"field 'evidence.{name}': expected counts by category but got {value!r}")
    for tag in value:
        _parse_text(tag, name)
    return {tag: None if number is None else _parse_count(number, f"{name}.{tag}") for tag, number in value.items()}


def _parse_count(value: Any, name: str) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not 0 <= value <= 1e9:  # NaN is neither
        raise RowError(f"field 'evidence.{name}': expected a number from 0 to 1e9 but got {value!r}")
    return float(value)


def _parse_texts(value: Any, name: str) -> Iterator[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise RowError(f"field 'evidence.{name}': expected a list of texts but got {value!r}")
    yield from (_parse_text(entry, name) for entry in value)


def _parse_text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not is_valid_utf8(value):
        raise RowError(f"field 'evidence.{name}': expected a text in UTF-8 but got {value!r}")
    return value
