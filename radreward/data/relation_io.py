"""Sentences and how they relate: what a judge of sentences learns from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.tables import is_valid_utf8, read_rows, write_table
from radreward.io.validated_rows import RowError
from radreward.systems.sentence_eval.few_shot import SCORES

RELATION_SCHEMA = pa.schema(
    {
        "sentences": pa.list_(pa.string()),
        "pairs": pa.list_(pa.struct({"one": pa.int64(), "other": pa.int64(), "score": pa.float64()})),
    }
)


class SentenceRelations(NamedTuple):
    """Some sentences, and the scores of pairs of them."""

    sentences: tuple[str, ...]
    pairs: tuple[tuple[int, int, float], ...]
    """Places of two sentences, and 1 the same, 0.5 partly, -1 a contradiction, 0 nothing in common."""


def write_relations(path: str | Path, records: Iterable[SentenceRelations]) -> None:
    """Write records, a row each, as JSONL, CSV or Parquet; the file appears when it is complete."""
    names = ("one", "other", "score")
    rows = (
        {"sentences": list(texts), "pairs": [dict(zip(names, pair, strict=True)) for pair in pairs]}
        for texts, pairs in records
    )
    write_table(path, RELATION_SCHEMA, rows)


def read_relations(path: str | Path) -> Iterator[SentenceRelations]:
    """Records of a file with `sentences` and `pairs` (one, other, score).

    Raises:
        InputError: At the first row that cannot be used; names file, row, field and what was expected.
    """
    for batch in read_rows(path):
        for row in batch:
            try:
                if row.error:
                    raise RowError(row.error)
                yield _parse_relations(row.values)
            except RowError as error:
                raise InputError(f"{path}, row {row.number}: {error}.") from error


def _parse_relations(values: Mapping[str, Any]) -> SentenceRelations:
    texts = _list_field(values, "sentences")
    if not texts or not all(isinstance(text, str) and text.strip() and is_valid_utf8(text) for text in texts):
        raise RowError("field 'sentences': expected texts that are not empty")
    return SentenceRelations(
        tuple(texts), tuple(_parse_pair(entry, len(texts)) for entry in _list_field(values, "pairs"))
    )


def _list_field(values: Mapping[str, Any], field: str) -> list[Any]:
    found = values.get(field)
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except ValueError as error:
            raise RowError(f"field {field!r}: expected JSON ({error})") from error
    if not isinstance(found, list):
        raise RowError(f"field {field!r}: expected a list but got {found!r}")
    return found


def _parse_pair(entry: Any, count: int) -> tuple[int, int, float]:
    if not isinstance(entry, dict) or set(entry) != {"one", "other", "score"}:
        raise RowError(f"field 'pairs': expected objects with one, other and score but got {entry!r}")
    one, other, score = entry["one"], entry["other"], entry["score"]
    for place in (one, other):
        if type(place) is not int or not 0 <= place < count:
            raise RowError(f"field 'pairs': expected places from 0 to {count - 1} but got {place!r}")
    if score not in SCORES:
        raise RowError(f"field 'pairs': expected a score of {', '.join(f'{s:g}' for s in SCORES)} but got {score!r}")
    return one, other, float(score)
