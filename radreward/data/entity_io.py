"""Sentences with their entities in files: JSON lines of texts, RaTE-NER's two layouts, CoNLL columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.data.records import RowError, text_field
from radreward.errors import InputError
from radreward.io.tables import is_text, write_table
from radreward.types import ENTITY_TYPES, Entity

SCHEMA = pa.schema(
    {
        "text": pa.string(),
        "entities": pa.list_(pa.struct({"start": pa.int64(), "end": pa.int64(), "type": pa.string()})),
    }
)
JSON_NAMES, CONLL_NAMES = (".jsonl", ".json"), (".conll", ".iob", ".bio", ".txt")
LABELS = "idx2label.json"
"""RaTE-NER's names of its numbered tags, in the folder of the file or the one above."""
_TYPES = {name.upper(): name for name in ENTITY_TYPES}


class LabelledSentence(NamedTuple):
    """A sentence and its entities, in the order of the text, without overlap."""

    text: str
    entities: tuple[Entity, ...]


def entity_type(label: str) -> str:
    """A type by its name in any case.

    Raises:
        ValueError: If there is none of this name.

    >>> entity_type("NON-DISEASE")
    'Non-Disease'
    """
    if label.upper() not in _TYPES:
        raise ValueError(f"expected a type of {', '.join(ENTITY_TYPES)} but got {label!r}")
    return _TYPES[label.upper()]


def tag_type(tag: str) -> tuple[str, str]:
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
    return letter, entity_type(label)


def spans_of_tags(tags: Sequence[str], stray: bool = True) -> list[tuple[int, int, str]]:
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
    for at, (letter, kind) in enumerate(map(tag_type, tags)):
        if letter == "I" and is_open:
            found[-1] = (found[-1][0], at + 1, found[-1][2])
        elif letter == "B" or (letter == "I" and stray):
            found.append((at, at + 1, kind))
            is_open = True
        else:
            is_open = False
    return found


def read_sentences(path: str | Path) -> Iterator[LabelledSentence]:
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
    if kind not in JSON_NAMES + CONLL_NAMES:
        raise InputError(f"{path}: expected a name that ends with {', '.join(JSON_NAMES + CONLL_NAMES)}.")
    reader = _json if kind in JSON_NAMES else _conll
    try:
        with path.open("rb") as file:
            yield from reader(((number, _decoded(line, number)) for number, line in enumerate(file, 1)), path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except _LineError as error:
        raise InputError(f"{path}, line {error.number}: {error}.") from error


def write_sentences(path: str | Path, sentences: Iterable[LabelledSentence]) -> None:
    """Write sentences as JSON lines of texts; the file appears when it is complete."""
    if Path(path).suffix.lower() != ".jsonl":
        raise InputError(f"{path}: expected a name that ends with .jsonl.")
    rows = (
        {"text": text, "entities": [{"start": e.start, "end": e.end, "type": e.type} for e in entities]}
        for text, entities in sentences
    )
    write_table(path, SCHEMA, rows)


class _LineError(ValueError):
    """What is wrong with a line."""

    def __init__(self, number: int, message: object) -> None:
        super().__init__(message)
        self.number = number


_Lines = Iterator[tuple[int, str]]
_Found = Iterator[LabelledSentence]


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise _LineError(number, f"expected UTF-8 text but byte {error.start} is not") from error


def _json(lines: _Lines, path: Path) -> _Found:
    names: dict[str, str] | None = None
    for number, line in lines:
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise RowError(f"expected a JSON object but got {type(row).__name__}")
            if "ner_tags" in row and names is None and any(type(tag) is int for tag in _list(row, "ner_tags")):
                names = _tag_names(path)
            yield from _row(row, names or {})
        except InputError:
            raise
        except RecursionError as error:
            raise _LineError(number, "expected a JSON object but it is nested too deep") from error
        except json.JSONDecodeError as error:
            raise _LineError(number, f"expected a JSON object ({error})") from error
        except ValueError as error:
            raise _LineError(number, error) from error


def _row(row: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[LabelledSentence]:
    if "tokens" in row:
        tokens, tags = _tokens(row["tokens"], "tokens"), _list(row, "ner_tags")
        if len(tags) != len(tokens):
            raise RowError(f"field 'ner_tags': expected {len(tokens)} tags, one a token, but got {len(tags)}")
        yield from_tokens(tokens, _fielded("ner_tags", spans_of_tags, [_tag(tag, names) for tag in tags]))
    elif "sentences" in row:
        yield from _documents(row)
    else:
        text = text_field(row, "text")
        yield LabelledSentence(text, _entities(text, _list(row, "entities")))


def _documents(row: Mapping[str, Any]) -> Iterator[LabelledSentence]:
    sentences, labelled, begin = _list(row, "sentences"), _list(row, "ner"), 0
    if len(sentences) != len(labelled):
        raise RowError(f"field 'ner': expected {len(sentences)} lists, one a sentence, but got {len(labelled)}")
    for words, spans in zip(sentences, labelled, strict=True):
        tokens = _tokens(words, "sentences")
        if not isinstance(spans, list):
            raise RowError(f"field 'ner': expected a list for each sentence but got {spans!r}")
        found = [_span(span, begin, len(tokens)) for span in spans]
        yield from_tokens(tokens, _fielded("ner", _ordered, found))
        begin += len(tokens)


def _span(span: Any, begin: int, size: int) -> tuple[int, int, str]:
    if not isinstance(span, list) or len(span) != 3 or [type(part) for part in span] != [int, int, str]:
        raise RowError(f"field 'ner': expected first token, last token and type but got {span!r}")
    start, end = span[0] - begin, span[1] + 1 - begin
    if not 0 <= start < end <= size:
        raise RowError(f"field 'ner': expected tokens {begin} to {begin + size - 1} of the sentence but got {span!r}")
    return start, end, _fielded("ner", entity_type, span[2])


def _conll(lines: _Lines, path: Path) -> _Found:
    tokens: list[str] = []
    tags: list[str] = []
    for number, line in lines:
        columns = line.split()
        if columns and columns[0] != "-DOCSTART-":
            if len(columns) < 2:
                raise _LineError(number, f"expected a token and its tag but got {line.strip()!r}")
            try:
                tag_type(columns[-1])
            except ValueError as error:
                raise _LineError(number, error) from error
            tokens.append(columns[0])
            tags.append(columns[-1])
        elif tokens:
            yield from_tokens(tokens, spans_of_tags(tags))
            tokens, tags = [], []
    if tokens:
        yield from_tokens(tokens, spans_of_tags(tags))


def from_tokens(tokens: Sequence[str], spans: Iterable[tuple[int, int, str]]) -> LabelledSentence:
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
    return LabelledSentence(text, tuple(Entity(text[start:end], kind, start, end) for start, end, kind in ends))


def _entities(text: str, values: list[Any]) -> tuple[Entity, ...]:
    found = []
    for value in values:
        if not isinstance(value, dict) or not {"start", "end", "type"} <= set(value):
            raise RowError(f"field 'entities': expected objects with start, end and type but got {value!r}")
        start, end, kind = value["start"], value["end"], value["type"]
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            raise RowError(f"field 'entities': expected start and end within the text but got {start!r}, {end!r}")
        if not isinstance(kind, str):
            raise RowError(f"field 'entities': expected the name of a type but got {kind!r}")
        found.append((start, end, _fielded("entities", entity_type, kind)))
    return tuple(Entity(text[s:e], kind, s, e) for s, e, kind in _fielded("entities", _ordered, found))


def _ordered(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    spans = sorted(spans)
    for before, after in zip(spans, spans[1:], strict=False):
        if after[0] < before[1]:
            raise ValueError(f"expected entities without overlap but got {before} and {after}")
    return spans


def _fielded(field: str, function: Any, value: Any) -> Any:
    try:
        return function(value)
    except ValueError as error:
        raise RowError(f"field {field!r}: {error}") from error


def _list(row: Mapping[str, Any], field: str) -> list[Any]:
    if not isinstance(row.get(field), list):
        raise RowError(f"field {field!r}: expected a list but got {row.get(field)!r}")
    return list(row[field])


def _tokens(value: Any, field: str) -> list[str]:
    if not isinstance(value, list):
        raise RowError(f"field {field!r}: expected a list of tokens but got {value!r}")
    for token in value:
        if not isinstance(token, str) or not token.strip() or not is_text(token):
            raise RowError(f"field {field!r}: expected tokens that are not empty but got {token!r}")
    return value


def _tag(tag: Any, names: Mapping[str, str]) -> str:
    if isinstance(tag, str):
        return tag
    if type(tag) is not int or str(tag) not in names:
        raise RowError(f"field 'ner_tags': expected one of the tags {', '.join(names.values())} but got {tag!r}")
    return names[str(tag)]


def _tag_names(path: Path) -> dict[str, str]:
    """The names of numbered tags, from the file that the published data set has for them."""
    for folder in (path.parent, path.parent.parent):
        if (folder / LABELS).is_file():
            try:
                names = json.loads((folder / LABELS).read_text(encoding="utf-8"))
            except ValueError as error:
                raise InputError(f"{folder / LABELS}: expected JSON ({error}).") from error
            if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
                raise InputError(f"{folder / LABELS}: expected an object of names by number.")
            return names
    raise InputError(f"{path}: its tags are numbers; expected {LABELS} beside it or in the folder above to name them.")
