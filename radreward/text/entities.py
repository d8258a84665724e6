"""Rule-based entities of a sentence: lexicon phrases with their type and negation."""

from __future__ import annotations

import re
from functools import lru_cache

from radreward.text.lexicon import LexicalPhrase, find_phrases, lowercase_same_length
from radreward.text.negation import is_inside, negated_spans
from radreward.text.sentence_splitter import CACHED_SENTENCES
from radreward.types import Entity

FINDING_TYPES = frozenset({"Abnormality", "Disease"})
"""Types of entities that a report states as present."""
_NOT_BEFORE = re.compile(r"\bnot\s+(?:\w+ly\s+)?$")
_MAX_ADVERB = 64
"""Number of characters before a name that are searched for "not" and an adverb."""


@lru_cache(CACHED_SENTENCES)
def rule_entities(sentence: str) -> tuple[Entity, ...]:
    """Return the entities of a sentence, from left to right.

    A generic name such as "process" is an entity only if it has an adjective or is negated.

    >>> [(entity.name, entity.type) for entity in rule_entities("Heart normal, no left effusion.")]
    [('Heart', 'Anatomy'), ('normal', 'Non-Abnormality'), ('left effusion', 'Non-Abnormality')]
    """
    text, offsets = _with_single_spaces(sentence)
    lower, scopes = lowercase_same_length(text), negated_spans(text)
    entities: list[Entity] = []
    for phrase in find_phrases(text):
        is_negated = is_inside(scopes, phrase.start)
        if phrase.kind == "generic" and phrase.is_standalone and not is_negated:
            continue
        if phrase.head == "absent" and entities and entities[-1].type.startswith("Non-"):
            continue  # as in "effusion and pneumothorax are absent", which it negates
        entity_type = phrase_type(phrase, is_negated)
        adverb_start = max(0, phrase.start - _MAX_ADVERB)
        if phrase.kind == "normal" and is_negated and _NOT_BEFORE.search(lower, adverb_start, phrase.start):
            entity_type = "Abnormality"
        name = text[phrase.start : phrase.end]
        entities.append(Entity(name, entity_type, offsets[phrase.start], offsets[phrase.end - 1] + 1))
    return tuple(entities)


def phrase_type(phrase: LexicalPhrase, is_negated: bool) -> str:
    """Return the entity type of a phrase.

    >>> phrase_type(find_phrases("effusion")[0], is_negated=True)
    'Non-Abnormality'
    """
    if phrase.kind in ("location", "device"):
        return "Anatomy"
    if phrase.kind == "normal":
        return "Non-Abnormality"
    base = "Disease" if phrase.is_disease else "Abnormality"
    return f"Non-{base}" if is_negated else base


def _with_single_spaces(text: str) -> tuple[str, list[int]]:
    """Return a text with one space per run of white space, and the original offset of each character.

    >>> _with_single_spaces("no  mass")
    ('no mass', [0, 1, 2, 4, 5, 6, 7])
    """
    offsets = [at for at, char in enumerate(text) if not char.isspace() or not text[at - 1 : at].isspace()]
    return "".join(" " if text[at].isspace() else text[at] for at in offsets), offsets
