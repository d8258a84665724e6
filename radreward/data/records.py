"""Groups of reports in files: one row per group, or one row per pair of reference and candidate."""

from __future__ import annotations

import hashlib
import math
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyarrow as pa

from radreward.criteria import Criteria, CriteriaError
from radreward.errors import InputError
from radreward.extras import require_packages
from radreward.io.artifacts import file_fingerprint, read_json_object
from radreward.io.parquet_files import has_parquet_files
from radreward.io.tables import TableRow, arrow_rows, is_valid_utf8, read_rows, table_suffix, write_table
from radreward.io.validated_rows import RowError, parse_json_cell, text_field
from radreward.prompts.parsing import MAX_COUNT
from radreward.types import Candidate, FindingWeights, LocatedError, ReportGroup, Side

_COUNTS = pa.list_(pa.struct({"tag": pa.string(), "count": pa.float64()}))
"""Errors by tag in Arrow: a list, because `datasets` cannot read a map."""

GROUP_SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "reference": pa.string(),
        "candidates": pa.list_(
            pa.struct(
                {
                    "text": pa.string(),
                    "errors": _COUNTS,
                    "system": pa.string(),
                    "matched": pa.float64(),
                    "wrong": pa.float64(),
                    "located_errors": pa.list_(
                        pa.struct(
                            {
                                "side": pa.string(),
                                "statements": pa.list_(pa.string()),
                                "errors": _COUNTS,
                                "wrong": pa.float64(),
                            }
                        )
                    ),
                }
            )
        ),
    }
)


_FLAT_COLUMNS = frozenset(
    {"id", "group", "reference", "candidate", "system", "located_errors", *FindingWeights._fields}
)
"""Columns of a flat row that are no criteria."""


def data_label(path: str | Path) -> str | None:
    """Return the label of the data card beside a file of groups, as "SYNTHETIC: …"; None without a card."""
    card = Path(path).parent / "card.json"
    if not (Path(path).is_file() and card.is_file()):
        return None
    label = read_json_object(card).get("label")
    return None if label is None else str(label)


def read_groups(
    path: str | Path, criteria: Criteria | None = None, needs_candidates: bool = True
) -> Iterator[ReportGroup]:
    """Yield groups from a file (see `read_rows`), a `datasets` folder, or `hf:name` (its split `train`).

    Rows have `id`, `reference` and either `candidates` (a list of text, errors by tag, system) or, flat, `candidate`,
    `errors` (or a column per criterion tag), `system` and optionally `group`. Flat rows without `id` are numbered. A
    candidate can have `matched` and `wrong`, the weights of its findings (`FindingWeights`), both or neither, and
    `located_errors`, a list of side, statements, errors and perhaps `wrong` (`LocatedError`).
    Rows of a `group` must be adjacent, and are streamed; without `group`, rows with equal references form a group, and
    all are held in memory.

    Args:
        path: The file, folder or name.
        criteria: If given, every candidate must have errors by exactly these criteria.
        needs_candidates: If False, a row can also have a `text` alone, which becomes a reference without candidates.

    Raises:
        InputError: At the first invalid row. The message names the file, the row, the field and the expected value.
    """
    ids: set[bytes] = set()
    pending: dict[str, ReportGroup] = {}
    closed: set[bytes] = set()
    for row in _read_any_rows(path):
        try:
            if row.error:
                raise RowError(row.error)
            is_text = not needs_candidates and "text" in row.values and "reference" not in row.values
            if is_text or ("candidate" in row.values and "candidates" not in row.values):
                row.values.setdefault("id", row.number)
            hashed = _hash_text(text_field(row.values, "id", allow_integer=True))
            if hashed in ids:
                raise RowError(f"field 'id': Expected a new id but {row.values['id']!r} occurred before")
            ids.add(hashed)
            if is_text:
                yield ReportGroup(text_field(row.values, "id", allow_integer=True), text_field(row.values, "text"), ())
                continue
            if "candidates" in row.values:
                yield _parse_group(row.values, criteria)
                continue
            group, streamed = _parse_flat_row(row.values, criteria)
            if streamed and pending and group.id not in pending:
                closed.update(map(_hash_text, pending))
                yield from pending.values()
                pending = {}
            if streamed and _hash_text(group.id) in closed:
                raise RowError(f"field 'group': Expected adjacent rows of {group.id!r}; sort by group")
            key = group.id if streamed else group.reference
            previous = pending.get(key)
            if previous and previous.reference != group.reference:
                raise RowError(f"field 'reference': Expected the same text in all rows of group {group.id!r}")
            pending[key] = previous._replace(candidates=previous.candidates + group.candidates) if previous else group
        except (RowError, CriteriaError) as error:
            is_rating = isinstance(error, CriteriaError) and row.values.get("rating") is not None
            hint = " `radreward benchmark` reads ratings." if is_rating else ""
            raise InputError(f"{path}, row {row.number}: {error}.{hint}") from error
    yield from pending.values()


def write_groups(path: str | Path, groups: Iterable[ReportGroup]) -> None:
    """Write groups, one per row, as JSONL, CSV or Parquet; the file appears when it is complete.

    The errors of a candidate are an object with a number per tag in JSONL and CSV, and a list of objects with `tag` and
    `count` in Parquet, which `datasets` can read.
    """
    counts_cell = _list_counts if table_suffix(path) == ".parquet" else dict
    write_table(path, GROUP_SCHEMA, (_group_values(group, counts_cell) for group in groups))


def group_to_row(group: ReportGroup) -> dict[str, Any]:
    """Return the values of a group by the columns of `GROUP_SCHEMA`."""
    return _group_values(group, _list_counts)


def _group_values(group: ReportGroup, counts_cell: Callable[[Mapping[str, float]], Any]) -> dict[str, Any]:
    """Return the values of a group by column; `counts_cell` returns the value of errors by tag."""
    candidates = []
    for text, errors, system, finding_weights, located_errors in group.candidates:
        weights = dict.fromkeys(FindingWeights._fields) if finding_weights is None else finding_weights._asdict()
        located = None
        if located_errors is not None:
            located = [
                {**entry._asdict(), "statements": list(entry.statements), "errors": counts_cell(entry.errors)}
                for entry in located_errors
            ]
        counts = None if errors is None else counts_cell(errors)
        candidates.append({"text": text, "errors": counts, "system": system, **weights, "located_errors": located})
    return {"id": group.id, "reference": group.reference, "candidates": candidates}


def _list_counts(counts: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"tag": tag, "count": count} for tag, count in counts.items()]


def row_to_group(row: Mapping[str, Any]) -> ReportGroup:
    """Return the group of a valid row of `GROUP_SCHEMA`; the inverse of `group_to_row`."""
    candidates = tuple(
        Candidate(
            entry["text"],
            _parse_errors(entry["errors"]) or None,
            entry["system"],
            _parse_weights(entry),
            _parse_located_errors(entry),
        )
        for entry in row["candidates"]
    )
    return ReportGroup(row["id"], row["reference"], candidates)


def data_fingerprint(path: str | Path) -> str:
    """Return the SHA-256 of a file or folder of groups, or of the rows of an `hf:name`.

    Raises:
        InputError: If the data cannot be read.
    """
    if not str(path).startswith("hf:"):
        return file_fingerprint(path)
    digest = hashlib.sha256()
    for row in _read_any_rows(path):
        digest.update(repr((row.number, row.values, row.error)).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _read_any_rows(path: str | Path) -> Iterator[TableRow]:
    if str(path).startswith("hf:") or (Path(path).is_dir() and not has_parquet_files(path)):
        require_packages(f"{path}: a dataset of the Hub or in a folder", "datasets")
        import datasets  # slow to import, and not needed for other files

        try:
            data = (
                datasets.load_dataset(str(path)[3:], split="train")
                if str(path).startswith("hf:")
                else datasets.load_from_disk(str(path))
            )
        except (OSError, ValueError, ConnectionError) as error:
            raise InputError(f"{path}: cannot be read as a dataset ({' '.join(str(error).split())}).") from error
        if not isinstance(data, datasets.Dataset):
            raise InputError(f"{path}: Expected one dataset but got several splits. Name the folder of one.")
        number = 1
        for table in data.with_format("arrow").iter(batch_size=1024):
            yield from arrow_rows(table, number)
            number += table.num_rows
        return
    for batch in read_rows(path):
        yield from batch


def _hash_text(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def _parse_group(values: Mapping[str, Any], criteria: Criteria | None) -> ReportGroup:
    entries = parse_json_cell(values["candidates"], "candidates")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise RowError("field 'candidates': Expected a list of objects with text and errors")
    candidates = []
    for position, entry in enumerate(entries, 1):
        try:
            candidates.append(_parse_candidate(text_field(entry, "text"), entry, entry.get("errors"), criteria))
        except (RowError, CriteriaError) as error:
            raise RowError(f"candidate {position}: {error}") from error
    return ReportGroup(text_field(values, "id", allow_integer=True), text_field(values, "reference"), tuple(candidates))


def _parse_flat_row(values: Mapping[str, Any], criteria: Criteria | None) -> tuple[ReportGroup, bool]:
    errors = values.get("errors")
    if "errors" not in values and criteria:
        errors = {tag: _parse_cell(values[tag], tag) for tag in _tag_columns(values, criteria)}
    reference, text = text_field(values, "reference"), text_field(values, "candidate")
    candidate = _parse_candidate(text, values, errors, criteria)
    streamed = "group" in values
    return ReportGroup(text_field(values, "group" if streamed else "id", True), reference, (candidate,)), streamed


def _tag_columns(values: Mapping[str, Any], criteria: Criteria) -> list[str]:
    """Return the tags with a column; a column that almost equals a missing tag is a typing error."""
    extra = sorted(str(name) for name in set(values) - set(criteria.tags) - _FLAT_COLUMNS)
    for tag in criteria.tags:
        if tag not in values and (near := get_close_matches(tag, extra, 1, 0.85)):
            raise RowError(f"field {near[0]!r}: unknown column; expected {tag!r}")
    return [tag for tag in criteria.tags if tag in values]


def _parse_candidate(text: str, values: Mapping[str, Any], errors: Any, criteria: Criteria | None) -> Candidate:
    """Return a candidate from its errors, and from the other values of its row or object."""
    system = values.get("system")
    counts = _parse_errors(parse_json_cell(errors, "errors"))
    if criteria is not None:
        criteria.to_list(counts or {})
    if system is not None and (not isinstance(system, str) or not is_valid_utf8(system)):
        raise RowError(f"field 'system': Expected a text but got {system!r}")
    return Candidate(text, counts, system or None, _parse_weights(values), _parse_located_errors(values))


def _parse_weights(values: Mapping[str, Any]) -> FindingWeights | None:
    cells = {name: values.get(name) for name in FindingWeights._fields}
    stated = [name for name, value in cells.items() if value is not None and value != ""]
    if not stated:
        return None
    if missing := [name for name in cells if name not in stated]:
        raise RowError(f"field {missing[0]!r}: Expected a number because the row has {stated[0]!r}")
    return FindingWeights(*(_parse_number(_parse_cell(value, name), name) for name, value in cells.items()))


def _parse_located_errors(values: Mapping[str, Any]) -> tuple[LocatedError, ...] | None:
    entries = parse_json_cell(values.get("located_errors"), "located_errors")
    if entries is None:
        return None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RowError("field 'located_errors': Expected a list of objects with side, statements and errors")
    return tuple(map(_parse_located_error, entries))


def _parse_located_error(entry: Mapping[str, Any]) -> LocatedError:
    statements, wrong = entry.get("statements"), entry.get("wrong")
    side = next((side for side in Side if side == entry.get("side")), None)
    if side is None:
        raise RowError(
            f"field 'located_errors': Expected the side to be candidate or reference but got {entry.get('side')!r}"
        )
    if not isinstance(statements, list) or not statements or not all(isinstance(text, str) for text in statements):
        raise RowError(f"field 'located_errors': Expected statements to be a list of texts but got {statements!r}")
    weight = None if wrong is None else _parse_number(wrong, "wrong")
    return LocatedError(side, tuple(statements), _parse_errors(entry.get("errors")) or {}, weight)


def _parse_errors(value: Any) -> dict[str, float] | None:
    if isinstance(value, list):
        value = _counts_by_tag(value)
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(tag, str) for tag in value):
        raise RowError(f"field 'errors': Expected a mapping from criterion to number but got {value!r}")
    if any(isinstance(number, dict) for number in value.values()):
        raise RowError(
            "field 'errors': Expected a mapping from criterion to number but got the errors of each rater. "
            "`radreward benchmark` reads ratings"
        )
    # In Arrow structs, a tag of another row is null in this one.
    return {tag: _parse_number(number, tag) for tag, number in value.items() if number is not None}


def _counts_by_tag(entries: list[Any]) -> dict[Any, Any]:
    """Return the errors by tag of a list of objects with tag and count, or of an Arrow map, a list of pairs."""
    counts: dict[Any, Any] = {}
    for entry in entries:
        if isinstance(entry, dict) and entry.keys() == {"tag", "count"}:
            tag, count = entry["tag"], entry["count"]
        elif isinstance(entry, tuple) and len(entry) == 2:
            tag, count = entry
        else:
            raise RowError(
                "field 'errors': Expected a mapping from criterion to number, or a list of objects with tag and "
                f"count, but got {entry!r} in a list"
            )
        if not isinstance(tag, str) or tag in counts:
            raise RowError(f"field 'errors': Expected a new tag in each object of the list but got {tag!r}")
        counts[tag] = count
    return counts


def _parse_number(value: Any, tag: str) -> float:
    if not isinstance(value, bool | int | float) or not 0 <= value < math.inf:
        raise RowError(f"field {tag!r}: Expected a finite number >= 0 but got {value!r}")
    if value > MAX_COUNT:
        raise RowError(f"field {tag!r}: Expected at most {MAX_COUNT:,} but got {reprlib.repr(value)}")
    return float(value)


def _parse_cell(value: Any, tag: str) -> Any:
    if isinstance(value, dict):
        raise RowError(
            f"field {tag!r}: Expected a number but got the numbers of each rater. `radreward benchmark` reads ratings"
        )
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError as error:
        raise RowError(f"field {tag!r}: Expected a number but got {value!r}") from error
