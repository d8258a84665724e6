"""Sentences with their entities in files: JSON lines of texts, RaTE-NER's two layouts, CoNLL columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.tables import is_valid_utf8, write_table
from radreward.io.validated_rows import RowError, text_field
from radreward.types import ENTITY_TYPES, Entity

ENTITY_SCHEMA = pa.schema(
    {
        "text": pa.string(),
        "entities": pa.list_(pa.struct({"start": pa.int64(), "end": pa.int64(), "type": pa.string()})),
    }
)
JSON_SUFFIXES, CONLL_SUFFIXES = (".jsonl", ".json"), (".conll", ".iob", ".bio", ".txt")
TAG_NAMES_FILE = "idx2label.json"
"""RaTE-NER's names of its numbered tags, in the folder of the file or the one above."""
_TYPE_BY_UPPERCASE = {name.upper(): name for name in ENTITY_TYPES}


class TaggedSentence(NamedTuple):
    """A sentence and its entities, in the order of the text, without overlap."""

    text: str
    entities: tuple[Entity, ...]


def parse_entity_type(label: str) -> str:
    """A type by its name in any case.

    Raises:
        ValueError: If there is none of this name.

    >>> entity_type("NON-DISEASE")
    'Non-Disease'
    """
    if label.upper() not in _TYPE_BY_UPPERCASE:
        raise ValueError(f"expected a type of {', '.join(ENTITY_TYPES)} but got {label!r}")
    return _TYPE_BY_UPPERCASE[label.upper()]


def split_iob_tag(tag: str) -> tuple[str, str]:
    """The letter of a tag and its type, empty for O.

    Raises:
        ValueError: If it is no tag of the IOB scheme.

    >>> tag_type("B-NON-DISEASE"), tag_type("O")
    (('B', 'Non-Disease'), ('O', ''))
    """
    if tag == "O":
        return "O", ""
    letter, _, label = tag.partition("-")
    if letter not in ("B", "I") or not label:
        raise ValueError(f"expected a tag O, B-TYPE or I-TYPE but got {tag!r}")
    return letter, parse_entity_type(label)


def spans_from_iob(tags: Sequence[str], stray_starts_entity: bool = True) -> list[tuple[int, int, str]]:
    """Entities of IOB tags: first token, token behind the last, type.

    B begins an entity and gives its type; I goes on with what is open, whatever type it names; O and the end of the
    sentence end it.

    Args:
        tags: O, B-TYPE or I-TYPE.
        stray: Whether an I where nothing is open begins an entity; otherwise it is part of none.

    >>> spans_of_tags(["O", "I-Disease", "B-Anatomy", "I-Disease"])
    [(1, 2, 'Disease'), (2, 4, 'Anatomy')]
    """
    found: list[tuple[int, int, str]] = []
    is_open = False
    for at, (letter, kind) in enumerate(map(split_iob_tag, tags)):
        if letter == "I" and is_open:
            found[-1] = (found[-1][0], at + 1, found[-1][2])
        elif letter == "B" or (letter == "I" and stray_starts_entity):
            found.append((at, at + 1, kind))
            is_open = True
        else:
            is_open = False
    return found


def read_tagged_sentences(path: str | Path) -> Iterator[TaggedSentence]:
    """Sentences of a file, in its order.

    A line of JSON (`.jsonl`, `.json`) is one of
    `{"text": ..., "entities": [{"start": 0, "end": 5, "type": "Disease"}]}` with offsets of characters,
    `{"tokens": [...], "ner_tags": ["B-DISEASE", ...]}`, RaTE-NER's IOB files, whose tags may be numbers that
    `idx2label.json` beside them names, and `{"sentences": [[...]], "ner": [[[0, 1, "DISEASE"]]]}`, its span files, with
    first and last token as counted over all sentences of the line. CoNLL files (`.conll`, `.iob`, `.bio`, `.txt`) have
    a token and, in the last column, its tag on each line, and an empty line between sentences. Tokens are joined by
    spaces.

    Raises:
        InputError: At the first line that cannot be used; the message names file, line, field and what was expected.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in JSON_SUFFIXES + CONLL_SUFFIXES:
        raise InputError(f"{path}: expected a name that ends with {', '.join(JSON_SUFFIXES + CONLL_SUFFIXES)}.")
    reader = _read_json_lines if kind in JSON_SUFFIXES else _read_conll
    try:
        with path.open("rb") as file:
            yield from reader(((number, _decode_line(line, number)) for number, line in enumerate(file, 1)), path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except _LineError as error:
        raise InputError(f"{path}, line {error.number}: {error}.") from error


def write_tagged_sentences(path: str | Path, sentences: Iterable[TaggedSentence]) -> None:
    """Write sentences as JSON lines of texts; the file appears when it is complete."""
    if Path(path).suffix.lower() != ".jsonl":
        raise InputError(f"{path}: expected a name that ends with .jsonl.")
    rows = (
        {"text": text, "entities": [{"start": e.start, "end": e.end, "type": e.type} for e in entities]}
        for text, entities in sentences
    )
    write_table(path, ENTITY_SCHEMA, rows)


class _LineError(ValueError):
    """What is wrong with a line."""

    def __init__(self, number: int, message: object) -> None:
        super().__init__(message)
        self.number = number


_Lines = Iterator[tuple[int, str]]
_Sentences = Iterator[TaggedSentence]


def _decode_line(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise _LineError(number, f"expected UTF-8 text but byte {error.start} is not") from error


def _read_json_lines(lines: _Lines, path: Path) -> _Sentences:
    names: dict[str, str] | None = None
    for number, line in lines:
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise RowError(f"expected a JSON object but got {type(row).__name__}")
            if "ner_tags" in row and names is None and any(type(tag) is int for tag in _list_field(row, "ner_tags")):
                names = _read_tag_names(path)
            yield from _parse_row(row, names or {})
        except InputError:
            raise
        except RecursionError as error:
            raise _LineError(number, "expected a JSON object but it is nested too deep") from error
        except json.JSONDecodeError as error:
            raise _LineError(number, f"expected a JSON object ({error})") from error
        except ValueError as error:
            raise _LineError(number, error) from error


def _parse_row(row: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[TaggedSentence]:
    if "tokens" in row:
        tokens, tags = _parse_tokens(row["tokens"], "tokens"), _list_field(row, "ner_tags")
        if len(tags) != len(tokens):
            raise RowError(f"field 'ner_tags': expected {len(tokens)} tags, one a token, but got {len(tags)}")
        yield sentence_from_tokens(
            tokens, _with_field_name("ner_tags", spans_from_iob, [_tag_name(tag, names) for tag in tags])
        )
    elif "sentences" in row:
        yield from _parse_document(row)
    else:
        text = text_field(row, "text")
        yield TaggedSentence(text, _parse_entities(text, _list_field(row, "entities")))


def _parse_document(row: Mapping[str, Any]) -> Iterator[TaggedSentence]:
    sentences, labelled, begin = _list_field(row, "sentences"), _list_field(row, "ner"), 0
    if len(sentences) != len(labelled):
        raise RowError(f"field 'ner': expected {len(sentences)} lists, one a sentence, but got {len(labelled)}")
    for words, spans in zip(sentences, labelled, strict=True):
        tokens = _parse_tokens(words, "sentences")
        if not isinstance(spans, list):
            raise RowError(f"field 'ner': expected a list for each sentence but got {spans!r}")
        found = [_parse_span(span, begin, len(tokens)) for span in spans]
        yield sentence_from_tokens(tokens, _with_field_name("ner", _sort_without_overlap, found))
        begin += len(tokens)


def _parse_span(span: Any, begin: int, size: int) -> tuple[int, int, str]:
    if not isinstance(span, list) or len(span) != 3 or [type(part) for part in span] != [int, int, str]:
        raise RowError(f"field 'ner': expected first token, last token and type but got {span!r}")
    start, end = span[0] - begin, span[1] + 1 - begin
    if not 0 <= start < end <= size:
        raise RowError(f"field 'ner': expected tokens {begin} to {begin + size - 1} of the sentence but got {span!r}")
    return start, end, _with_field_name("ner", parse_entity_type, span[2])


def _read_conll(lines: _Lines, path: Path) -> _Sentences:
    tokens: list[str] = []
    tags: list[str] = []
    for number, line in lines:
        columns = line.split()
        if columns and columns[0] != "-DOCSTART-":
            if len(columns) < 2:
                raise _LineError(number, f"expected a token and its tag but got {line.strip()!r}")
            try:
                split_iob_tag(columns[-1])
            except ValueError as error:
                raise _LineError(number, error) from error
            tokens.append(columns[0])
            tags.append(columns[-1])
        elif tokens:
            yield sentence_from_tokens(tokens, spans_from_iob(tags))
            tokens, tags = [], []
    if tokens:
        yield sentence_from_tokens(tokens, spans_from_iob(tags))


def sentence_from_tokens(tokens: Sequence[str], spans: Iterable[tuple[int, int, str]]) -> TaggedSentence:
    """A sentence of tokens joined by spaces.

    Args:
        tokens: Without white space.
        spans: Of each entity the first token, the one behind the last, and the type.

    >>> from_tokens(["No", "edema"], [(1, 2, "Non-Abnormality")]).entities[0].start
    3
    """
    text = " ".join(tokens)
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token) + 1)
    ends = [(starts[first], starts[behind] - 1, kind) for first, behind, kind in spans]
    return TaggedSentence(text, tuple(Entity(text[start:end], kind, start, end) for start, end, kind in ends))


def _parse_entities(text: str, values: list[Any]) -> tuple[Entity, ...]:
    found = []
    for value in values:
        if not isinstance(value, dict) or not {"start", "end", "type"} <= set(value):
            raise RowError(f"field 'entities': expected objects with start, end and type but got {value!r}")
        start, end, kind = value["start"], value["end"], value["type"]
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            raise RowError(f"field 'entities': expected start and end within the text but got {start!r}, {end!r}")
        if not isinstance(kind, str):
            raise RowError(f"field 'entities': expected the name of a type but got {kind!r}")
        found.append((start, end, _with_field_name("entities", parse_entity_type, kind)))
    return tuple(
        Entity(text[s:e], kind, s, e) for s, e, kind in _with_field_name("entities", _sort_without_overlap, found)
    )


def _sort_without_overlap(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    spans = sorted(spans)
    for before, after in zip(spans, spans[1:], strict=False):
        if after[0] < before[1]:
            raise ValueError(f"expected entities without overlap but got {before} and {after}")
    return spans


def _with_field_name(field: str, function: Any, value: Any) -> Any:
    try:
        return function(value)
    except ValueError as error:
        raise RowError(f"field {field!r}: {error}") from error


def _list_field(row: Mapping[str, Any], field: str) -> list[Any]:
    if not isinstance(row.get(field), list):
        raise RowError(f"field {field!r}: expected a list but got {row.get(field)!r}")
    return list(row[field])


def _parse_tokens(value: Any, field: str) -> list[str]:
    if not isinstance(value, list):
        raise RowError(f"field {field!r}: expected a list of tokens but got {value!r}")
    for token in value:
        if not isinstance(token, str) or not token.strip() or not is_valid_utf8(token):
            raise RowError(f"field {field!r}: expected tokens that are not empty but got {token!r}")
    return value


def _tag_name(tag: Any, names: Mapping[str, str]) -> str:
    if isinstance(tag, str):
        return tag
    if type(tag) is not int or str(tag) not in names:
        raise RowError(f"field 'ner_tags': expected one of the tags {', '.join(names.values())} but got {tag!r}")
    return names[str(tag)]


def _read_tag_names(path: Path) -> dict[str, str]:
    """The names of numbered tags, from the file that the published data set has for them."""
    for folder in (path.parent, path.parent.parent):
        if (folder / TAG_NAMES_FILE).is_file():
            try:
                names = json.loads((folder / TAG_NAMES_FILE).read_text(encoding="utf-8"))
            except ValueError as error:
                raise InputError(f"{folder / TAG_NAMES_FILE}: expected JSON ({error}).") from error
            if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
                raise InputError(f"{folder / TAG_NAMES_FILE}: expected an object of names by number.")
            return names
    raise InputError(
        f"{path}: its tags are numbers; expected {TAG_NAMES_FILE} beside it or in the folder above to name them."
    )
