"""How alike two names of entities should be, as our vocabulary knows them: what a head over MiniLM learns.

A general encoder takes "left effusion" and "right effusion" for nearly the same, and "PTX" and "air in the pleural
space" for strangers. The lexicon reads finding, place and degree from a name, and so says what is the same in other
words and what contradicts it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.text.findings import FINDINGS, SEVERITY_WORDS, is_related
from radreward.text.report_parser import LOCATION_WORDS, parse_sentence

FINDING_KEYS = tuple(FINDINGS)
LATERALITIES = ("", "left", "right", "bilateral")
SEVERITIES = ("", *SEVERITY_WORDS)
RELATED, SAME_REGION = 0.7, 0.15
"""Likeness of a finding and a kind of it, and of two that are seen in the same region."""
OPPOSITE, HALF, OTHER_ZONE, SIDE_UNSAID = 0.1, 0.5, 0.7, 0.9
"""What is left of the likeness where sides differ (one of both: half), zones differ, or one names no side."""
ONE_STEP, TWO_STEPS, DEGREE_UNSAID = 0.4, 0.15, 0.92
_SEVERITY_WORDS = re.compile(
    r"\b(?:(?P<mild>mild(?:ly)?|small|minimal(?:ly)?|slight(?:ly)?|trace|tiny|subtle|minor)"
    r"|(?P<moderate>moderate(?:ly)?(?: severe)?)"
    r"|(?P<severe>severe(?:ly)?|large|marked(?:ly)?|extensive|massive|substantial))\b"
)


class NameAttributes(NamedTuple):
    """What is read of n names, (n,) int64 each."""

    finding: Tensor
    """Place in `KEYS`; their number where none is named."""
    laterality: Tensor
    """Place in `SIDES`."""
    zone: Tensor
    """0 where none is named."""
    severity: Tensor
    """Place in `LEVELS`."""

    def select(self, rows: Tensor) -> NameAttributes:
        """Those of some names."""
        return NameAttributes(*(column[rows] for column in self))


def parse_names(names: Sequence[str]) -> NameAttributes:
    """Finding, place and degree of names.

    >>> found = features(["small left effusion", "on the right", "heart"])
    >>> found.side.tolist(), found.degree.tolist(), (found.finding == len(KEYS)).tolist()
    ([1, 2, 0], [1, 0, 0], [False, True, True])
    """
    zones: dict[str, int] = {"": 0}
    rows = []
    for name in names:
        facts = parse_sentence(name).facts
        fact = facts[0] if len(facts) == 1 else None
        side, _, zone = ((fact.location if fact else None) or _parse_location(name) or "").partition(" ")
        degree = (fact.severity if fact else None) or _parse_severity(name)
        known = side in LATERALITIES
        number = zones.setdefault(zone if known else side, len(zones))
        rows.append(
            [
                FINDING_KEYS.index(fact.finding) if fact else len(FINDING_KEYS),
                LATERALITIES.index(side) if known else 0,
                number,
                SEVERITIES.index(degree),
            ]
        )
    table = torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)
    return NameAttributes(*table.unbind(1))


def _parse_location(name: str) -> str | None:
    lower = name.lower()
    bare = " ".join(re.sub(r"\b(?:the|side|sided|in|on|at)\b", "", lower).split())
    words = set(re.findall(r"[a-z]+", lower))
    for phrase in (lower, bare):
        if phrase in LOCATION_WORDS:
            return str(LOCATION_WORDS[phrase])
    if len(sides := words & {"left", "right"}) == 1:
        return str(next(iter(sides)))
    return "bilateral" if words & {"both", "bilateral", "bilaterally", "bases", "apices"} else None


def _parse_severity(name: str) -> str:
    found = _SEVERITY_WORDS.search(name.lower())
    return (found.lastgroup or "") if found else ""


def finding_similarity() -> Tensor:
    """(F + 1, F + 1) likeness of findings apart from place and degree; 0 with no finding."""
    table = torch.zeros(len(FINDING_KEYS) + 1, len(FINDING_KEYS) + 1)
    for row, one in enumerate(FINDING_KEYS):
        for column, other in enumerate(FINDING_KEYS):
            same_region = SAME_REGION if FINDINGS[one].region == FINDINGS[other].region else 0.0
            table[row, column] = 1.0 if one == other else RELATED if is_related(one, other) else same_region
    return table


def target_similarity(attributes: NameAttributes, base: Tensor, finding_similarities: Tensor) -> Tensor:
    """(n, n) cosines that names should have.

    Names of findings: those of the findings, less where places or degrees contradict each other. Places: by side and
    zone. A place and a finding: something where the sides agree. All else ("heart", "enlarged"): as the encoder has it,
    unless side or degree contradict.

    Args:
        known: Of n names.
        base: (n, n) cosines by the encoder, >= 0.
        alike: As of `findings_alike`.
    """
    side, zone, degree = (
        (column[:, None], column[None]) for column in (attributes.laterality, attributes.zone, attributes.severity)
    )
    said, half = (side[0] > 0) & (side[1] > 0), (side[0] == 3) | (side[1] == 3)
    differ = said & (side[0] != side[1])
    opposed, partly = differ & ~half, differ & half
    zones = (zone[0] > 0) & (zone[1] > 0) & (zone[0] != zone[1])
    unsaid = (side[0] > 0) != (side[1] > 0)
    place = _where(opposed, OPPOSITE, _where(partly, HALF, 1.0)) * _where(
        zones, OTHER_ZONE, _where(unsaid, SIDE_UNSAID, 1.0)
    )
    gap, graded = (degree[0] - degree[1]).abs(), (degree[0] > 0) & (degree[1] > 0)
    amount = _where(graded & (gap == 1), ONE_STEP, _where(graded & (gap == 2), TWO_STEPS, 1.0))
    amount = amount * _where((degree[0] > 0) != (degree[1] > 0), DEGREE_UNSAID, 1.0)
    finding = attributes.finding < len(FINDING_KEYS)
    spot = ~finding & ((attributes.laterality > 0) | (attributes.zone > 0)) & (attributes.severity == 0)
    both, places = finding[:, None] & finding[None], spot[:, None] & spot[None]
    mixed = (finding[:, None] & spot[None]) | (spot[:, None] & finding[None])
    findings = finding_similarities[attributes.finding][:, attributes.finding] * place * amount
    spots = _where(opposed, 0.0, _where(partly, 0.45, _where(zones, 0.3, _where(zone[0] == zone[1], 1.0, 0.7))))
    crossed = _where(said, 0.45, 0.1) * _where(opposed, 0.0, _where(partly, 0.5, 1.0))
    other = base * _where(opposed, OPPOSITE, 1.0) * amount
    return torch.where(both, findings, torch.where(places, spots, torch.where(mixed, crossed, other)))


def _where(where: Tensor, value: float, other: Tensor | float) -> Tensor:
    return torch.where(where, torch.tensor(value), torch.as_tensor(other))
