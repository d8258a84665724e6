"""Sentences and their relations in files: the training data of a sentence judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.io.tables import is_valid_utf8, write_table
from radreward.io.validated_rows import RowError, list_field, read_validated_rows

RELATION_SCORES = (-1.0, 0.0, 0.5, 1.0)
"""Contradiction, nothing in common, partial agreement, same content."""
_RELATION_SCHEMA = pa.schema(
    {
        "sentences": pa.list_(pa.string()),
        "pairs": pa.list_(pa.struct({"first": pa.int64(), "second": pa.int64(), "score": pa.float64()})),
    }
)


class SentenceRelations(NamedTuple):
    """Sentences with scores of some pairs."""

    sentences: tuple[str, ...]
    pairs: tuple[tuple[int, int, float], ...]
    """Indices of two sentences, and one of `RELATION_SCORES`."""


def write_relations(path: str | Path, records: Iterable[SentenceRelations]) -> None:
    """Write records, one per row, as JSONL, CSV or Parquet; the file appears when it is complete."""
    rows = (
        {
            "sentences": list(sentences),
            "pairs": [{"first": first, "second": second, "score": score} for first, second, score in pairs],
        }
        for sentences, pairs in records
    )
    write_table(path, _RELATION_SCHEMA, rows)


def read_relations(path: str | Path) -> Iterator[SentenceRelations]:
    """Return the records of a file with `sentences` and `pairs` (first, second, score).

    Raises:
        InputError: After the last row, if the file has no rows or invalid rows. The message names the file, the rows,
            the fields and the expected values.
    """
    return (record for _, record in read_validated_rows(path, _parse_relations))


def _parse_relations(values: Mapping[str, Any]) -> SentenceRelations:
    texts = list_field(values, "sentences")
    if not texts or not all(isinstance(text, str) and text.strip() and is_valid_utf8(text) for text in texts):
        raise RowError("field 'sentences': Expected texts that are not empty")
    return SentenceRelations(
        tuple(texts), tuple(_parse_pair(entry, len(texts)) for entry in list_field(values, "pairs"))
    )


def _parse_pair(entry: Any, num_sentences: int) -> tuple[int, int, float]:
    if not isinstance(entry, dict) or set(entry) != {"first", "second", "score"}:
        raise RowError(f"field 'pairs': Expected objects with first, second and score but got {entry!r}")
    first, second, score = entry["first"], entry["second"], entry["score"]
    for index in (first, second):
        if type(index) is not int or not 0 <= index < num_sentences:
            raise RowError(f"field 'pairs': Expected indices from 0 to {num_sentences - 1} but got {index!r}")
    if score not in RELATION_SCORES:
        expected = ", ".join(f"{value:g}" for value in RELATION_SCORES)
        raise RowError(f"field 'pairs': Expected a score of {expected} but got {score!r}")
    return first, second, float(score)
