"""The vocabulary of chest radiograph findings, read from findings.txt, rare_findings.txt and more_names.txt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

from radreward.text.bone_levels import LEVELS, RIBS
from radreward.text.finding_relations import MEANT_BY_VAGUE_NAME, SAME_CARE, SHOWN_BY_SIGN
from radreward.text.locations import LOCATIONS

Urgency = Literal["urgent", "actionable", "not actionable", "benign"]
URGENCIES: tuple[Urgency, ...] = get_args(Urgency)
"""Levels of clinical significance, the most urgent first; see `significance_level`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding of the vocabulary."""

    key: str
    urgency: Urgency
    """Significance of the finding without details."""
    region: str
    """One of lungs, pleura, heart, mediastinum, bones, devices, abdomen."""
    parent: str | None
    """The more general finding, if any. A finding and its more general finding can match each other."""
    equals_parent: bool
    """True if patient care is the same for the finding and its parent."""
    location_group: str
    """A key of `LOCATIONS`, or "-" if the name includes the location."""
    has_severity: bool
    can_change: bool
    """True if the finding can be compared with a prior study."""
    names: tuple[str, ...]
    """Names, the most common first. A leading * marks plurals and mass nouns, which take no article."""

    @property
    def plain_names(self) -> tuple[str, ...]:
        """Names without the leading *."""
        return tuple(name.removeprefix("*") for name in self.names)

    @property
    def locations(self) -> tuple[str, ...]:
        """Canonical locations that the finding can have."""
        return LOCATIONS[self.location_group]

    @property
    def is_significant(self) -> bool:
        """True if an error about the finding would change patient care."""
        return self.urgency in ("urgent", "actionable")

    @property
    def is_device(self) -> bool:
        """True for tubes, lines and other devices."""
        return self.region == "devices"


def _parse_finding(line: str, more_names: dict[str, tuple[str, ...]]) -> Finding:
    key, urgency, region, parent, location_group, flags, names = (part.strip() for part in line.split("|"))
    if urgency not in URGENCIES or location_group not in LOCATIONS:
        raise AssertionError(f"Finding {key!r}: Expected a valid significance and location group in its line.")
    return Finding(
        key=key,
        urgency=next(level for level in URGENCIES if level == urgency),
        region=region,
        parent=None if parent == "-" else parent.removeprefix("~"),
        equals_parent=parent.startswith("~"),
        location_group=location_group,
        has_severity="g" in flags,
        can_change="c" in flags,
        names=_split_names(names) + more_names.get(key, ()),
    )


def _split_names(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(";"))


def _read_lines(name: str) -> list[str]:
    text = resources.files("radreward.text").joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _read_findings(file: str) -> dict[str, Finding]:
    rows = (line.split("|") for line in _read_lines("more_names.txt"))
    more_names = {key.strip(): _split_names(names) for key, names in rows}
    findings = (_parse_finding(line, more_names) for line in _read_lines(file))
    return {finding.key: finding for finding in findings}


GENERATED_FINDINGS: dict[str, Finding] = _read_findings("findings.txt")
"""Findings that generated reports can have, by key."""
FINDINGS: dict[str, Finding] = GENERATED_FINDINGS | _read_findings("rare_findings.txt")
"""All findings by key; the rare ones are only read."""
MALPOSITIONED = {"ett": "ettlow", "ngt": "ngtmal", "chesttube": "chesttubemal", "cvc": "cvcmal", "picc": "piccmal"}
"""Keys of tubes → keys of the same tubes with their tip in a wrong place."""
BROKEN = {"pacemaker": "leadfracture", "sternotomy": "dehiscence"}
"""Keys of devices → keys of the same devices with a broken part."""
DISPLACED = (
    MALPOSITIONED
    | BROKEN
    | {"dobhoff": "ngtmal", "swan": "swanmal", "port": "cvcmal", "dialysis": "cvcmal", "tunneled": "cvcmal"}
)
"""Keys of devices → keys of the same devices out of place; those that are no `MALPOSITIONED` are only read."""


@cache
def ancestors(key: str) -> tuple[str, ...]:
    """Return a finding and its more general findings, nearest first.

    >>> ancestors("pneumonia")
    ('pneumonia', 'consolidation', 'opacity')
    """
    parent = FINDINGS[key].parent
    return (key,) if parent is None else (key, *ancestors(parent))


@cache
def is_kind_or_shown(general: str, specific: str) -> bool:
    """Return True if the second finding is the first one or a kind of it, or the first one is a sign of the second.

    >>> is_kind_or_shown("opacity", "pneumonia"), is_kind_or_shown("deepsulcus", "tension")
    (True, True)
    """
    kinds = ancestors(specific)
    return general in kinds or not SHOWN_BY_SIGN.get(general, frozenset()).isdisjoint(kinds)


@cache
def is_related(first: str, second: str) -> bool:
    """Return True if two findings are the same, or one is a kind or a sign of the other.

    >>> is_related("opacity", "pneumonia"), is_related("atelectasis", "pneumonia"), is_related("kerley", "edema")
    (True, False, True)
    """
    return is_kind_or_shown(first, second) or is_kind_or_shown(second, first)


@cache
def can_mean_same(first: str, second: str) -> bool:
    """Return True if two names can be about one finding: they are related, or one is a vague name for the other.

    >>> can_mean_same("opacity", "mass"), is_related("opacity", "mass"), can_mean_same("scar", "edema")
    (True, False, False)
    """
    return is_related(first, second) or any(
        not MEANT_BY_VAGUE_NAME.get(vague, frozenset()).isdisjoint(ancestors(specific))
        for vague, specific in ((first, second), (second, first))
    )


def means_same_care(first: str, second: str) -> bool:
    """Return True if either name can replace the other: an equivalent parent, a sign that is as good as the finding.

    >>> means_same_care("pneumonia", "consolidation"), means_same_care("pneumonia", "opacity")
    (True, False)
    >>> means_same_care("pleuralline", "pneumothorax"), means_same_care("deepsulcus", "pneumothorax")
    (True, False)
    """
    return (
        first == second
        or frozenset((first, second)) in SAME_CARE
        or any(
            FINDINGS[child].equals_parent and FINDINGS[child].parent == parent
            for child, parent in ((first, second), (second, first))
        )
    )


def stated_finding(key: str, location: str | None, is_healed: bool = False) -> str:
    """Return the finding that a name means with a location, or with a word for its age.

    A tube at a wrong place is malpositioned, and a fracture at a rib or a vertebra is one of these.

    >>> stated_finding("ett", "right mainstem"), stated_finding("ett", "above carina")
    ('ettlow', 'ett')
    >>> [stated_finding(key, "left", is_healed=True) for key in ("ribfx", "clavfx", "effusion")]
    ['oldribfx', 'oldfx', 'effusion']
    >>> stated_finding("fracture", "left rib5"), stated_finding("fracture", "thoracic T8")
    ('ribfx', 'vertfx')
    """
    if key == "fracture" and location in LEVELS:
        key = "ribfx" if location in RIBS else "vertfx"
    if is_healed:
        return _healed(key)
    malpositioned = MALPOSITIONED.get(key)
    is_elsewhere = (key, location) in {("ngt", "right mainstem"), ("ett", "esophagus")}
    return malpositioned if malpositioned and (is_elsewhere or location in FINDINGS[malpositioned].locations) else key


def _healed(key: str) -> str:
    """Return what a finding is if it is old: a fracture is another one, the others are the same."""
    if key in ("ribfx", "vertfx"):
        return f"old{key}"
    is_fracture = key == "fracture" or (FINDINGS[key].parent == "fracture" and FINDINGS[key].equals_parent)
    return "oldfx" if is_fracture else key


def remove_related(keys: list[str]) -> list[str]:
    """Return findings in order, without those that are related to an earlier one.

    >>> remove_related(["opacity", "effusion", "pneumonia"])
    ['opacity', 'effusion']
    """
    retained: list[str] = []
    for key in keys:
        if not any(is_related(key, other) for other in retained):
            retained.append(key)
    return retained
