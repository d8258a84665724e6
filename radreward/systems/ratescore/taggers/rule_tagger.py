"""The rule-based tagger: a lexicon, phrases by the parts of their words, and the reach of denials."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path

from radreward.systems.ratescore.taggers.base import Tagger
from radreward.systems.ratescore.taggers.folder import CONFIG, FORMAT, atomic_tagger_folder, write_json
from radreward.text.lexicon import LexicalPhrase, find_phrases, lowercase_same_length
from radreward.text.negation import negated_spans
from radreward.types import Entity

_NEGATED_TYPES = {"Abnormality": "Non-Abnormality", "Disease": "Non-Disease"}
_NEGATION_BEFORE = re.compile(r"\bnot\s+(?:\w+ly\s+)?$")


class RuleTagger(Tagger):
    """Entities by rules, for text of chest radiographs; needs no training and no weights.

    - Anatomy: a body part with its words of place, a place alone ("left"), a device.
    - Abnormality, Disease: the name of a finding with the words of degree, form and place before it, or what is said
      of a body part that is not as it should be ("enlarged"). What may be counts as what is.
    - Non-Abnormality, Non-Disease: the same, denied; and what is said of a body part that is well ("normal").

    >>> [(entity.name, entity.type) for entity in RuleTagger().tag(["Heart normal, no left effusion."])[0]]
    [('Heart', 'Anatomy'), ('normal', 'Non-Abnormality'), ('left effusion', 'Non-Abnormality')]
    """

    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """See `Tagger.tag`."""
        return [_entities(text) for text in sentences]

    def fingerprint(self) -> str:
        """Of the lexicon and the rules."""
        return _fingerprint()

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the kind of the tagger; its rules are code."""
        with atomic_tagger_folder(folder) as scratch:
            write_json(scratch / CONFIG, {"format": FORMAT, "kind": "rules"})


@lru_cache(1)
def _fingerprint() -> str:
    root = resources.files("radreward")
    names = ("text/lexicon.txt", "text/lexicon.py", "text/negation.py", "systems/ratescore/taggers/rule_tagger.py")
    return "rules-" + hashlib.sha256(b"\0".join(root.joinpath(name).read_bytes() for name in names)).hexdigest()


@lru_cache(50_000)
def _entities(text: str) -> tuple[Entity, ...]:
    plain, places = _normalize_spaces(text)
    reach = negated_spans(plain)
    found = []
    for phrase in find_phrases(plain):
        start, end = phrase.start, phrase.end
        if kind := _entity_type(phrase, any(begin <= start < stop for begin, stop in reach), plain[:start]):
            found.append(Entity(plain[start:end], kind, places[start], places[end - 1] + 1))
    return tuple(found)


def _normalize_spaces(text: str) -> tuple[str, list[int]]:
    """The text with one space for each run of white space, as the lexicon has it, and where its letters stood.

    >>> _single_spaces("no  mass")
    ('no mass', [0, 1, 2, 4, 5, 6, 7])
    """
    places = [at for at, letter in enumerate(text) if not letter.isspace() or not text[at - 1 : at].isspace()]
    return "".join(" " if text[at].isspace() else text[at] for at in places), places


def _entity_type(phrase: LexicalPhrase, is_negated: bool, before: str) -> str | None:
    if phrase.kind in ("place", "device"):
        return "Anatomy"
    if phrase.kind == "well":
        return (
            "Abnormality"
            if is_negated and _NEGATION_BEFORE.search(lowercase_same_length(before))
            else "Non-Abnormality"
        )
    if phrase.kind == "generic" and phrase.is_standalone and not is_negated:
        return None
    kind = "Disease" if phrase.is_disease else "Abnormality"
    return _NEGATED_TYPES[kind] if is_negated else kind
