"""Rule-based tagger: phrases of the lexicon with their types, depending on negation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path

from radreward.io.artifacts import fingerprint
from radreward.io.atomic import atomic_folder
from radreward.io.model_config import write_config
from radreward.systems.ratescore.taggers.base import CONFIG_FILE, Tagger
from radreward.text.entities import rule_entities
from radreward.types import Entity


class RuleTagger(Tagger):
    """Tags entities of chest radiograph reports by rules, without training or weights.

    - Anatomy: a body part with its location, a location alone ("left"), or a device.
    - Abnormality, Disease: a finding with its severity, shape and location, or an abnormal property of a body part
      ("enlarged"). Uncertain findings count as present.
    - Non-Abnormality, Non-Disease: a negated finding, or a normal property of a body part ("normal").

    >>> [(entity.name, entity.type) for entity in RuleTagger().tag(["Heart normal, no left effusion."])[0]]
    [('Heart', 'Anatomy'), ('normal', 'Non-Abnormality'), ('left effusion', 'Non-Abnormality')]
    """

    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """See `Tagger.tag`."""
        return [rule_entities(sentence) for sentence in sentences]

    def fingerprint(self) -> str:
        """Return a hash of the lexicon and the rules."""
        return _fingerprint()

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the kind of the tagger. The rules are code of the package."""
        with atomic_folder(folder, {CONFIG_FILE}, "a tagger") as scratch:
            write_config(scratch / CONFIG_FILE, {"kind": "rules"})


@lru_cache(1)
def _fingerprint() -> str:
    words = ("text/lexicon.txt", "text/findings.txt", "text/rare_findings.txt", "text/addresses.txt")
    names = (*words, "text/lexicon.py", "text/negation.py", "text/entities.py", "text/recognition.py")
    root = Path(str(resources.files("radreward")))
    return "rules-" + fingerprint([root / name for name in names])
