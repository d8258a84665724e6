"""Text that is embedded for an entity: its name, its name after a prefix for its type, or its phrase."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from radreward.text.changes import CHANGE
from radreward.text.entities import FINDING_TYPES
from radreward.text.lexicon import lowercase_same_length
from radreward.text.negation import is_inside
from radreward.types import Entity

ContextMode = Literal["name", "type", "phrase"]

TYPE_PREFIXES = {
    "Anatomy": "anatomical structure of the chest on a chest x-ray, a normal part of the body: ",
    "Non-Abnormality": "normal, no acute abnormality: ",
    "Non-Disease": "normal, no acute disease: ",
}
"""Prefixes of names by type. For a general encoder, "heart" differs from "cardiac silhouette" and "clear" from
"unremarkable"; a common prefix makes them more similar. Present findings have no prefix, so that they remain different
from each other and from negated findings."""
MAX_GAP, MAX_PHRASE = 25, 120
"""Maximum number of characters between a finding and a body part of its phrase, and of the whole phrase."""
_CLAUSE_END = re.compile(r"[.;:\n]")


def contextualize(context: ContextMode, text: str, entities: Sequence[Entity]) -> list[str]:
    """Return the text to embed for each entity of a report.

    - name: its name, as in the paper.
    - type: its name after a prefix for its type, see `TYPE_PREFIXES`.
    - phrase: as type, but a present finding and the body parts close to it are all embedded as their common phrase,
      because "enlarged" alone does not name the body part.

    Args:
        context: The mode.
        text: The report.
        entities: Entities of the report, with offsets in it, in order.

    >>> text = "Heart enlarged. Collapse of the left lower lobe, no effusion."
    >>> spans = [(0, 5, "Anatomy"), (6, 14, "Abnormality"), (16, 24, "Abnormality"), (32, 47, "Anatomy")]
    >>> contextualize("phrase", text, [Entity(text[start:end], kind, start, end) for start, end, kind in spans])
    ['Heart enlarged', 'Heart enlarged', 'Collapse of the left lower lobe', 'Collapse of the left lower lobe']
    """
    if context == "name":
        return [entity.name for entity in entities]
    phrases = _finding_phrases(text, entities) if context == "phrase" else {}
    return [
        phrases.get(index) or TYPE_PREFIXES.get(entity.type, "") + entity.name for index, entity in enumerate(entities)
    ]


def present_findings(text: str, entities: Sequence[Entity], texts: Sequence[str] | None = None) -> list[str]:
    """Return the texts of the present findings of a report, without words that state a change, such as "increased".

    Args:
        text: The report.
        entities: Entities of the report, with offsets in it, in order.
        texts: Text of each entity, see `contextualize`; defaults to its phrase.

    >>> text = "The heart is enlarged, the effusion has increased."
    >>> spans = [(4, 9, "Anatomy"), (13, 21, "Abnormality"), (27, 35, "Abnormality"), (40, 49, "Abnormality")]
    >>> present_findings(text, [Entity(text[start:end], kind, start, end) for start, end, kind in spans])
    ['heart is enlarged', 'effusion']
    """
    changes = [match.span() for match in CHANGE.finditer(lowercase_same_length(text))]
    return [
        phrase
        for phrase, entity in zip(texts or contextualize("phrase", text, entities), entities, strict=True)
        if entity.type in FINDING_TYPES and not is_inside(changes, entity.start)
    ]


def _finding_phrases(text: str, entities: Sequence[Entity]) -> dict[int, str]:
    """Return the common phrase of present findings and their body parts, by the index of each of these entities."""
    findings = [index for index, entity in enumerate(entities) if entity.type in FINDING_TYPES]
    if not findings:
        return {}
    groups: dict[int, list[int]] = {}
    for index, entity in enumerate(entities):
        if entity.type == "Anatomy":
            following = bisect_left(findings, index)
            neighbors = findings[max(0, following - 1) : following + 1]
            gap, nearest = min((_gap(text, entity, entities[finding]), finding) for finding in neighbors)
            if gap <= MAX_GAP:
                groups.setdefault(nearest, [nearest]).append(index)
    phrases: dict[int, str] = {}
    for group in groups.values():
        start, end = min(entities[index].start for index in group), max(entities[index].end for index in group)
        if end - start <= MAX_PHRASE:
            phrases |= dict.fromkeys(group, text[start:end])
    return phrases


def _gap(text: str, a: Entity, b: Entity) -> float:
    """Return the number of characters between two entities, infinite if > MAX_GAP or if a clause ends between them."""
    first, second = sorted((a, b), key=lambda entity: entity.start)
    gap = second.start - first.end
    return float("inf") if gap > MAX_GAP or _CLAUSE_END.search(text, first.end, second.start) else gap
