"""The rule-based tagger: a lexicon, phrases by the parts of their words, and the reach of denials."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path

from radreward.models.taggers.base import Tagger
from radreward.models.taggers.denial import denied
from radreward.models.taggers.folder import CONFIG, FORMAT, new_folder, write_json
from radreward.models.taggers.lexicon import Atom, atoms, lowered
from radreward.types import Entity

_PHRASES = re.compile(
    "(?P<name>[FY]*[QZBA]*[FY]*[BA]*[ND])"  # small left pleural effusion
    "|(?P<generic>[FY]*[QZBA]*[FY]*[BA]*E)"  # acute cardiopulmonary process
    "|(?P<place>[QZBA]*[ZBA][QZBA]*)"  # left upper lobe
    "|(?P<device>[QZBA]*V)"  # endotracheal tube
    "|(?P<off>F*[XY])"  # mildly enlarged
    "|(?P<well>G)"  # normal
)
"""Phrases by the letters of `lexicon.PARTS`. A finding takes the words of degree, form and place before it."""
_DENIED = {"Abnormality": "Non-Abnormality", "Disease": "Non-Disease"}
_GAP = re.compile(r"[\s/-]*")
_NOT = re.compile(r"\bnot\s+(?:\w+ly\s+)?$")


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
        with new_folder(folder) as scratch:
            write_json(scratch / CONFIG, {"format": FORMAT, "kind": "rules"})


@lru_cache(1)
def _fingerprint() -> str:
    package = resources.files("radreward.models.taggers")
    names = ("lexicon.txt", "lexicon.py", "denial.py", "rules.py")
    return "rules-" + hashlib.sha256(b"\0".join(package.joinpath(name).read_bytes() for name in names)).hexdigest()


@lru_cache(50_000)
def _entities(text: str) -> tuple[Entity, ...]:
    reach = denied(text)
    return tuple(entity for run in _runs(text) for entity in _of_run(text, run, reach))


def _runs(text: str) -> list[list[Atom]]:
    """Atoms with nothing but white space, hyphens and slashes between them."""
    runs: list[list[Atom]] = []
    for atom in atoms(text):
        if runs and _GAP.fullmatch(text, runs[-1][-1].end, atom.start):
            runs[-1].append(atom)
        else:
            runs.append([atom])
    return runs


def _of_run(text: str, run: list[Atom], reach: list[tuple[int, int]]) -> list[Entity]:
    found = []
    for match in _PHRASES.finditer("".join(atom.part for atom in run)):
        start, end = run[match.start()].start, run[match.end() - 1].end
        kind = _type(match, any(begin <= start < stop for begin, stop in reach), text[:start])
        if kind:
            found.append(Entity(text[start:end], kind, start, end))
    return found


def _type(phrase: re.Match[str], is_denied: bool, before: str) -> str | None:
    if phrase.lastgroup in ("place", "device"):
        return "Anatomy"
    if phrase.lastgroup == "well":
        return "Abnormality" if is_denied and _NOT.search(lowered(before)) else "Non-Abnormality"
    if phrase.lastgroup == "generic" and len(phrase[0]) == 1 and not is_denied:
        return None
    kind = "Disease" if phrase[0].endswith("D") else "Abnormality"
    return _DENIED[kind] if is_denied else kind
