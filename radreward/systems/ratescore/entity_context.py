"""What is read of an entity: its name, words for its type, and what is said beside it in its sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from radreward.types import Entity

ContextMode = Literal["name", "type", "phrase"]

TYPE_PREFIXES = {
    "Anatomy": "anatomical structure of the chest on a chest x-ray, a normal part of the body: ",
    "Non-Abnormality": "normal, no acute abnormality: ",
    "Non-Disease": "normal, no acute disease: ",
}
"""What stands before names by type. A general encoder takes "heart" and "cardiac silhouette", or "clear" and
"unremarkable", for different things; said to be anatomy, or normal, they are alike. Findings that are there have no
such words, so that they stay apart from each other and from what is denied."""
MAX_GAP, MAX_PHRASE = 25, 120
"""Most characters between a finding and a body part of its phrase, and of the phrase."""
_END = re.compile(r"[.;:\n]")


def contextualize(context: ContextMode, text: str, entities: Sequence[Entity]) -> list[str]:
    """What is read of each entity of a report.

    - name: its name, as published.
    - type: after words for its type, see `TYPES`.
    - phrase: the same, but a finding that is there is read with the body parts and places beside it, and these with the
      finding. "Enlarged" says something of a heart only, and "collapse" on the left is "left lobar collapse".

    Args:
        context: Which of these.
        text: The report.
        entities: Its entities, by their offsets.

    >>> text = "Heart enlarged. Collapse of the left lower lobe, no effusion."
    >>> spans = [(0, 5, "Anatomy"), (6, 14, "Abnormality"), (16, 24, "Abnormality"), (32, 47, "Anatomy")]
    >>> readings("phrase", text, [Entity(text[start:end], kind, start, end) for start, end, kind in spans])
    ['Heart enlarged', 'Heart enlarged', 'Collapse of the left lower lobe', 'Collapse of the left lower lobe']
    """
    if context == "name":
        return [entity.name for entity in entities]
    joined = _finding_phrases(text, entities) if context == "phrase" else {}
    return [joined.get(at) or TYPE_PREFIXES.get(entity.type, "") + entity.name for at, entity in enumerate(entities)]


def _finding_phrases(text: str, entities: Sequence[Entity]) -> dict[int, str]:
    """The phrases of findings that are there and body parts, by the place of either."""
    findings = [at for at, entity in enumerate(entities) if entity.type in ("Abnormality", "Disease")]
    if not findings:
        return {}
    parts: dict[int, list[int]] = {}
    for at, entity in enumerate(entities):
        if entity.type == "Anatomy":
            gap, nearest = min((_gap(text, entity, entities[finding]), finding) for finding in findings)
            if gap <= MAX_GAP:
                parts.setdefault(nearest, [nearest]).append(at)
    said: dict[int, str] = {}
    for members in parts.values():
        start, end = min(entities[at].start for at in members), max(entities[at].end for at in members)
        if end - start <= MAX_PHRASE:
            said |= dict.fromkeys(members, text[start:end])
    return said


def _gap(text: str, one: Entity, other: Entity) -> float:
    """Characters between two entities; no end where a clause ends between them."""
    first, second = sorted((one, other), key=lambda entity: entity.start)
    return float("inf") if _END.search(text[first.end : second.start]) else second.start - first.end
