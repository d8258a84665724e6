"""Entity types and IOB tags."""

from __future__ import annotations

from collections.abc import Sequence

from radreward.types import ENTITY_TYPES

_TYPE_BY_UPPERCASE = {name.upper(): name for name in ENTITY_TYPES}


def parse_entity_type(label: str) -> str:
    """Return the entity type of a name in any case.

    Raises:
        ValueError: If there is no such type.

    >>> parse_entity_type("NON-DISEASE")
    'Non-Disease'
    """
    if label.upper() not in _TYPE_BY_UPPERCASE:
        raise ValueError(f"Expected one of the types {', '.join(ENTITY_TYPES)} but got {label!r}")
    return _TYPE_BY_UPPERCASE[label.upper()]


def split_iob_tag(tag: str) -> tuple[str, str]:
    """Return the letter and the entity type of a tag; the type is empty for O.

    Raises:
        ValueError: If it is no tag of the IOB scheme.

    >>> split_iob_tag("B-NON-DISEASE"), split_iob_tag("O")
    (('B', 'Non-Disease'), ('O', ''))
    """
    if tag == "O":
        return "O", ""
    letter, _, label = tag.partition("-")
    if letter not in ("B", "I") or not label:
        raise ValueError(f"Expected a tag O, B-TYPE or I-TYPE but got {tag!r}")
    return letter, parse_entity_type(label)


def spans_from_iob(tags: Sequence[str], stray_starts_entity: bool = True) -> list[tuple[int, int, str]]:
    """Return the entities of IOB tags as first token, end token (exclusive) and type.

    B starts an entity and decides its type; I continues the open entity, whatever its own type; O ends it.

    Args:
        tags: O, B-TYPE or I-TYPE.
        stray_starts_entity: An I without an open entity starts one; False ignores it.

    >>> spans_from_iob(["O", "I-Disease", "B-Anatomy", "I-Disease"])
    [(1, 2, 'Disease'), (2, 4, 'Anatomy')]
    """
    spans: list[tuple[int, int, str]] = []
    is_open = False
    for index, (letter, entity_type) in enumerate(map(split_iob_tag, tags)):
        if letter == "I" and is_open:
            spans[-1] = (spans[-1][0], index + 1, spans[-1][2])
        elif letter == "B" or (letter == "I" and stray_starts_entity):
            spans.append((index, index + 1, entity_type))
            is_open = True
        else:
            is_open = False
    return spans
