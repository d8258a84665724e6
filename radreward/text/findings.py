"""The findings of a chest radiograph that the grammar can speak of, and the words for them; all our own."""

from __future__ import annotations

from importlib import resources
from typing import Literal, NamedTuple, get_args

Urgency = Literal["urgent", "actionable", "not actionable", "benign"]
URGENCIES: tuple[Urgency, ...] = get_args(Urgency)
"""The most urgent first."""


class Finding(NamedTuple):
    """One finding: how much it matters, where it can be, and what it is called."""

    key: str
    urgency: Urgency
    region: str
    """lungs, pleura, heart, mediastinum, bones, devices, abdomen."""
    parent: str | None
    """A more general finding, of which this is a kind: naming one for the other is no error."""
    location_group: str
    """Key of `PLACES`, or - where the place is in the name."""
    has_severity: bool
    """Whether it comes in degrees."""
    can_change: bool
    """Whether it can be compared with an earlier study."""
    names: tuple[str, ...]
    """Names; * marks one that is plural or a mass and takes no article."""

    @property
    def is_significant(self) -> bool:
        """Whether an error about it would change the patient's care."""
        return self.urgency in ("urgent", "actionable")


_LATERALITIES = ("left", "right", "bilateral")
LOCATIONS: dict[str, tuple[str, ...]] = {
    "-": (),
    "side": _LATERALITIES,
    "lung": tuple(f"{side} {zone}".strip() for zone in ("lower", "upper", "", "perihilar") for side in _LATERALITIES)
    + ("right middle", "left middle"),
    "lungdiffuse": ("bilateral", "bilateral lower", "bilateral upper", "right", "left"),
    "ett": ("above carina",),
    "mainstem": ("right mainstem",),
    "stomach": ("stomach",),
    "esophagus": ("esophagus",),
    "vein": ("svc", "cavoatrial", "right atrium", "brachiocephalic"),
}
"""Canonical places of each kind. Base and lower lobe are one place, apex and upper lobe another."""

LOCATION_PREFIXES: dict[str, tuple[str, ...]] = {
    "left": ("left", "left-sided", "left sided"),
    "right": ("right", "right-sided", "right sided"),
    "bilateral": ("bilateral",),
    "left lower": (
        "left basilar",
        "left lower lobe",
        "left base",
        "left lower lung",
        "left basal",
        "LLL",
        "retrocardiac",
    ),
    "right lower": ("right basilar", "right lower lobe", "right base", "right lower lung", "right basal", "RLL"),
    "bilateral lower": ("bibasilar", "bilateral basilar", "bilateral lower lobe", "bibasal", "bilateral lower lung"),
    "left upper": ("left upper lobe", "left apical", "left upper lung", "LUL"),
    "right upper": ("right upper lobe", "right apical", "right upper lung", "RUL"),
    "bilateral upper": ("biapical", "bilateral upper lobe", "bilateral upper lung", "bilateral apical"),
    "left perihilar": ("left perihilar", "left suprahilar", "left infrahilar"),
    "right perihilar": ("right perihilar", "right suprahilar", "right infrahilar"),
    "bilateral perihilar": ("bilateral perihilar", "perihilar", "bilateral central"),
    "right middle": ("right middle lobe", "RML", "right midlung", "right mid lung"),
    "left middle": ("lingular", "left midlung", "left mid lung", "left mid-lung"),
}
"""Words that stand before the name."""

LOCATION_SUFFIXES: dict[str, tuple[str, ...]] = {
    "left": ("on the left", "on the left side", "in the left hemithorax"),
    "right": ("on the right", "on the right side", "in the right hemithorax"),
    "bilateral": ("bilaterally", "on both sides", "in both hemithoraces"),
    "left lower": (
        "at the left base",
        "in the left lower lobe",
        "at the left lung base",
        "in the left lower lung zone",
    ),
    "right lower": (
        "at the right base",
        "in the right lower lobe",
        "at the right lung base",
        "in the right lower lung zone",
    ),
    "bilateral lower": ("at the lung bases", "at both lung bases", "at the bases", "in both lower lobes"),
    "left upper": ("in the left upper lobe", "at the left apex", "in the left upper lung zone"),
    "right upper": ("in the right upper lobe", "at the right apex", "in the right upper lung zone"),
    "bilateral upper": ("in both upper lobes", "at both apices", "in the upper lung zones"),
    "left perihilar": ("in the left perihilar region", "adjacent to the left hilum"),
    "right perihilar": ("in the right perihilar region", "adjacent to the right hilum"),
    "bilateral perihilar": ("in the perihilar regions", "in a perihilar distribution"),
    "right middle": ("in the right middle lobe", "in the right mid lung zone"),
    "left middle": ("in the lingula", "in the left mid lung zone"),
    "above carina": (
        "terminating above the carina",
        "with tip 4 cm above the carina",
        "in standard position above the carina",
        "with its tip approximately 3.5 cm from the carina",
    ),
    "right mainstem": (
        "in the right mainstem bronchus",
        "with tip in the right main bronchus",
        "entering the right mainstem bronchus",
    ),
    "stomach": (
        "in the stomach",
        "coursing below the diaphragm",
        "with tip in the stomach",
        "extending into the stomach",
        "with side port below the gastroesophageal junction",
    ),
    "esophagus": ("in the distal esophagus", "with tip in the esophagus", "coiled in the esophagus"),
    "svc": (
        "with tip in the SVC",
        "terminating in the mid SVC",
        "in the superior vena cava",
        "ending in the lower SVC",
        "with tip projecting over the SVC",
    ),
    "cavoatrial": ("at the cavoatrial junction", "with tip near the cavoatrial junction"),
    "right atrium": ("in the right atrium", "with tip in the right atrium", "terminating in the upper right atrium"),
    "brachiocephalic": ("in the brachiocephalic vein", "with tip in the left brachiocephalic vein"),
}
"""Words that stand after the name."""

SEVERITY_WORDS: dict[str, tuple[str, ...]] = {
    "mild": ("mild", "small", "minimal", "slight", "trace", "tiny", "subtle", "minor"),
    "moderate": ("moderate", "moderate-sized", "moderately severe", "mild to moderate"),
    "severe": ("severe", "large", "marked", "extensive", "massive", "substantial"),
}
"""Degrees and sizes are one scale of three."""

SEVERITY_LEVELS = {degree: level for level, degree in enumerate(SEVERITY_WORDS)}


def _read_lines() -> list[str]:
    text = resources.files("radreward.text").joinpath("findings.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _parse_finding(line: str) -> Finding:
    key, urgency, region, parent, places, flags, nouns = (part.strip() for part in line.split("|"))
    if urgency not in URGENCIES or places not in LOCATIONS:
        raise AssertionError(f"the vocabulary's line of {key!r} is malformed")
    return Finding(
        key,
        next(known for known in URGENCIES if known == urgency),
        region,
        None if parent == "-" else parent,
        places,
        "g" in flags,
        "c" in flags,
        tuple(noun.strip() for noun in nouns.split(";")),
    )


FINDINGS: dict[str, Finding] = {entry.key: entry for entry in map(_parse_finding, _read_lines())}
"""All findings by key."""


def ancestors(key: str) -> tuple[str, ...]:
    """A finding and what it is a kind of, nearest first.

    >>> ancestry("pneumonia")
    ('pneumonia', 'consolidation', 'opacity')
    """
    parent = FINDINGS[key].parent
    return (key,) if parent is None else (key, *ancestors(parent))


def is_related(first: str, second: str) -> bool:
    """Whether one finding is the other, or a kind of it.

    >>> related("opacity", "pneumonia"), related("atelectasis", "pneumonia")
    (True, False)
    """
    return first in ancestors(second) or second in ancestors(first)
