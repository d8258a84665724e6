"""Sentences with entities in files: JSON lines of texts, and RaTE-NER's two layouts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.data.iob import parse_entity_type, spans_from_iob
from radreward.errors import InputError
from radreward.io.tables import is_valid_utf8, read_json_lines, write_table
from radreward.io.validated_rows import RowError, list_field, text_field
from radreward.types import Entity

_ENTITY_SCHEMA = pa.schema(
    {
        "text": pa.string(),
        "entities": pa.list_(pa.struct({"start": pa.int64(), "end": pa.int64(), "type": pa.string()})),
    }
)
_SUFFIXES = (".jsonl", ".json")
_TAG_NAMES_FILE = "idx2label.json"
"""File of the names of RaTE-NER's numbered tags, in the folder of the data or above it."""


class TaggedSentence(NamedTuple):
    """A sentence and its entities, in the order of the text and without overlap."""

    text: str
    entities: tuple[Entity, ...]


def read_tagged_sentences(path: str | Path) -> Iterator[TaggedSentence]:
    """Yield the sentences of a file in order.

    A line of JSON (`.jsonl`, `.json`) has one of three forms:
    `{"text": ..., "entities": [{"start": 0, "end": 5, "type": "Disease"}]}` with character offsets;
    `{"tokens": [...], "ner_tags": ["B-DISEASE", ...]}`, as in RaTE-NER's IOB files, whose tags may be numbers named in
    `idx2label.json`; `{"sentences": [[...]], "ner": [[[0, 1, "DISEASE"]]]}`, as in its span files, with first and last
    token counted over all sentences of the line. Tokens are joined by spaces.

    Raises:
        InputError: At the first invalid line. The message names the file, the line, the field and the expected value.
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{path}: Expected a name that ends with {', '.join(_SUFFIXES)}.")
    try:
        yield from _read_json(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except _LineError as error:
        raise InputError(f"{path}, line {error.number}: {error}.") from error


def write_tagged_sentences(path: str | Path, sentences: Iterable[TaggedSentence]) -> None:
    """Write sentences as JSON lines of texts; the file appears when it is complete."""
    if Path(path).suffix.lower() != ".jsonl":
        raise InputError(f"{path}: Expected a name that ends with .jsonl.")
    rows = (
        {"text": text, "entities": [{"start": e.start, "end": e.end, "type": e.type} for e in entities]}
        for text, entities in sentences
    )
    write_table(path, _ENTITY_SCHEMA, rows)


class _LineError(ValueError):
    """An invalid line."""

    def __init__(self, number: int, message: object) -> None:
        super().__init__(message)
        self.number = number


def _read_json(path: Path) -> Iterator[TaggedSentence]:
    names: dict[str, str] | None = None
    for number, row, problem in read_json_lines(path):
        if problem:
            raise _LineError(number, problem)
        try:
            if "ner_tags" in row and names is None and any(type(tag) is int for tag in list_field(row, "ner_tags")):
                names = _read_tag_names(path)
            yield from _parse_row(row, names or {})
        except InputError:
            raise
        except ValueError as error:
            raise _LineError(number, error) from error


def _parse_row(row: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[TaggedSentence]:
    if "tokens" in row:
        tokens, tags = _parse_tokens(row["tokens"], "tokens"), list_field(row, "ner_tags")
        if len(tags) != len(tokens):
            raise RowError(f"field 'ner_tags': Expected {len(tokens)} tags, one per token, but got {len(tags)}")
        yield sentence_from_tokens(
            tokens, _with_field_name("ner_tags", spans_from_iob, [_tag_name(tag, names) for tag in tags])
        )
    elif "sentences" in row:
        yield from _parse_document(row)
    else:
        text = text_field(row, "text")
        yield TaggedSentence(text, _parse_entities(text, list_field(row, "entities")))


def _parse_document(row: Mapping[str, Any]) -> Iterator[TaggedSentence]:
    sentences, labelled, offset = list_field(row, "sentences"), list_field(row, "ner"), 0
    if len(sentences) != len(labelled):
        raise RowError(f"field 'ner': Expected {len(sentences)} lists, one per sentence, but got {len(labelled)}")
    for words, spans in zip(sentences, labelled, strict=True):
        tokens = _parse_tokens(words, "sentences")
        if not isinstance(spans, list):
            raise RowError(f"field 'ner': Expected one list per sentence but got {spans!r}")
        parsed = [_parse_span(span, offset, len(tokens)) for span in spans]
        yield sentence_from_tokens(tokens, _with_field_name("ner", _sort_without_overlap, parsed))
        offset += len(tokens)


def _parse_span(span: Any, offset: int, size: int) -> tuple[int, int, str]:
    if not isinstance(span, list) or len(span) != 3 or [type(part) for part in span] != [int, int, str]:
        raise RowError(f"field 'ner': Expected first token, last token and type but got {span!r}")
    start, end = span[0] - offset, span[1] + 1 - offset
    if not 0 <= start < end <= size:
        last = offset + size - 1
        raise RowError(f"field 'ner': Expected tokens of the sentence, {offset} to {last}, but got {span!r}")
    return start, end, _with_field_name("ner", parse_entity_type, span[2])


def sentence_from_tokens(tokens: Sequence[str], spans: Iterable[tuple[int, int, str]]) -> TaggedSentence:
    """Return a sentence of tokens joined by spaces.

    Args:
        tokens: Tokens without white space.
        spans: First token, end token (exclusive) and type of each entity.

    >>> sentence_from_tokens(["No", "edema"], [(1, 2, "Non-Abnormality")]).entities[0].start
    3
    """
    text = " ".join(tokens)
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token) + 1)
    return TaggedSentence(text, _to_entities(text, ((starts[i], starts[j] - 1, name) for i, j, name in spans)))


def _to_entities(text: str, spans: Iterable[tuple[int, int, str]]) -> tuple[Entity, ...]:
    return tuple(Entity(text[start:end], name, start, end) for start, end, name in spans)


def _parse_entities(text: str, values: list[Any]) -> tuple[Entity, ...]:
    spans = []
    for value in values:
        if not isinstance(value, dict) or not {"start", "end", "type"} <= set(value):
            raise RowError(f"field 'entities': Expected objects with start, end and type but got {value!r}")
        start, end, name = value["start"], value["end"], value["type"]
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            raise RowError(f"field 'entities': Expected start and end within the text but got {start!r}, {end!r}")
        if not isinstance(name, str):
            raise RowError(f"field 'entities': Expected the name of a type but got {name!r}")
        spans.append((start, end, _with_field_name("entities", parse_entity_type, name)))
    return _to_entities(text, _with_field_name("entities", _sort_without_overlap, spans))


def _sort_without_overlap(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    spans = sorted(spans)
    for previous, span in pairwise(spans):
        if span[0] < previous[1]:
            raise ValueError(f"Expected entities without overlap but got {previous} and {span}")
    return spans


def _with_field_name(field: str, function: Any, value: Any) -> Any:
    try:
        return function(value)
    except ValueError as error:
        raise RowError(f"field {field!r}: {error}") from error


def _parse_tokens(value: Any, field: str) -> list[str]:
    if not isinstance(value, list):
        raise RowError(f"field {field!r}: Expected a list of tokens but got {value!r}")
    for token in value:
        if not isinstance(token, str) or not token.strip() or not is_valid_utf8(token):
            raise RowError(f"field {field!r}: Expected tokens that are not empty but got {token!r}")
    return value


def _tag_name(tag: Any, names: Mapping[str, str]) -> str:
    if isinstance(tag, str):
        return tag
    if type(tag) is not int or str(tag) not in names:
        raise RowError(f"field 'ner_tags': Expected one of the tags {', '.join(names.values())} but got {tag!r}")
    return names[str(tag)]


def _read_tag_names(path: Path) -> dict[str, str]:
    """Return the names of numbered tags, from the file that the published data set has for them."""
    for folder in (path.parent, path.parent.parent):
        if (folder / _TAG_NAMES_FILE).is_file():
            try:
                names = json.loads((folder / _TAG_NAMES_FILE).read_text(encoding="utf-8"))
            except ValueError as error:
                raise InputError(f"{folder / _TAG_NAMES_FILE}: Expected JSON ({error}).") from error
            if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
                raise InputError(f"{folder / _TAG_NAMES_FILE}: Expected an object of names by number.")
            return names
    raise InputError(
        f"{path}: its tags are numbers. Expected their names in {_TAG_NAMES_FILE}, in the same folder or the one above."
    )
