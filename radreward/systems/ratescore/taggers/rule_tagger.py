"""The rule-based tagger: a lexicon, phrases by the parts of their words, and the reach of denials."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path

from radreward.systems.ratescore.taggers.base import Tagger
from radreward.systems.ratescore.taggers.folder import CONFIG, FORMAT, atomic_tagger_folder, write_json
from radreward.text.entities import rule_entities
from radreward.types import Entity


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
        return [rule_entities(text) for text in sentences]

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
    names = ("text/lexicon.txt", "text/lexicon.py", "text/negation.py", "text/entities.py", "text/findings.txt")
    return "rules-" + hashlib.sha256(b"\0".join(root.joinpath(name).read_bytes() for name in names)).hexdigest()
