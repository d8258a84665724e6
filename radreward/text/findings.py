"""The vocabulary of chest radiograph findings, read from findings.txt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

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


def _parse_finding(line: str) -> Finding:
    key, urgency, region, parent, location_group, flags, names = (part.strip() for part in line.split("|"))
    if urgency not in URGENCIES or location_group not in LOCATIONS:
        raise AssertionError(f"findings.txt: Expected a valid significance and location group in the line of {key!r}.")
    return Finding(
        key=key,
        urgency=next(level for level in URGENCIES if level == urgency),
        region=region,
        parent=None if parent == "-" else parent.removeprefix("~"),
        equals_parent=parent.startswith("~"),
        location_group=location_group,
        has_severity="g" in flags,
        can_change="c" in flags,
        names=tuple(name.strip() for name in names.split(";")),
    )


def _read_findings() -> dict[str, Finding]:
    text = resources.files("radreward.text").joinpath("findings.txt").read_text(encoding="utf-8")
    findings = (_parse_finding(line) for line in text.splitlines() if line and not line.startswith("#"))
    return {finding.key: finding for finding in findings}


FINDINGS: dict[str, Finding] = _read_findings()
"""All findings by key."""
MALPOSITIONED = {"ett": "ettlow", "ngt": "ngtmal"}
"""Keys of tubes → keys of the same tubes with their tip in a wrong place."""


@cache
def ancestors(key: str) -> tuple[str, ...]:
    """Return a finding and its more general findings, nearest first.

    >>> ancestors("pneumonia")
    ('pneumonia', 'consolidation', 'opacity')
    """
    parent = FINDINGS[key].parent
    return (key,) if parent is None else (key, *ancestors(parent))


def is_related(first: str, second: str) -> bool:
    """Return True if two findings are the same, or one is a kind of the other.

    >>> is_related("opacity", "pneumonia"), is_related("atelectasis", "pneumonia")
    (True, False)
    """
    return first in ancestors(second) or second in ancestors(first)


def means_same_care(first: str, second: str) -> bool:
    """Return True if either name can replace the other: they are the same finding, or one is an equivalent parent.

    >>> means_same_care("pneumonia", "consolidation"), means_same_care("pneumonia", "opacity")
    (True, False)
    """
    return first == second or any(
        FINDINGS[child].equals_parent and FINDINGS[child].parent == parent
        for child, parent in ((first, second), (second, first))
    )


def stated_finding(key: str, location: str | None) -> str:
    """Return the finding that a name and a location mean together, such as a malpositioned tube.

    >>> stated_finding("ett", "right mainstem"), stated_finding("ett", "above carina")
    ('ettlow', 'ett')
    """
    malpositioned = MALPOSITIONED.get(key)
    return malpositioned if malpositioned and location in FINDINGS[malpositioned].locations else key


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
