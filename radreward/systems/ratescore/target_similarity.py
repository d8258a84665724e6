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

from radreward.text.findings import DEGREES, FINDINGS, related
from radreward.text.report_parser import PLACE_WORDS, read

KEYS = tuple(FINDINGS)
SIDES = ("", "left", "right", "bilateral")
LEVELS = ("", *DEGREES)
RELATED, SAME_REGION = 0.7, 0.15
"""Likeness of a finding and a kind of it, and of two that are seen in the same region."""
OPPOSITE, HALF, OTHER_ZONE, SIDE_UNSAID = 0.1, 0.5, 0.7, 0.9
"""What is left of the likeness where sides differ (one of both: half), zones differ, or one names no side."""
ONE_STEP, TWO_STEPS, DEGREE_UNSAID = 0.4, 0.15, 0.92
_DEGREE = re.compile(
    r"\b(?:(?P<mild>mild(?:ly)?|small|minimal(?:ly)?|slight(?:ly)?|trace|tiny|subtle|minor)"
    r"|(?P<moderate>moderate(?:ly)?(?: severe)?)"
    r"|(?P<severe>severe(?:ly)?|large|marked(?:ly)?|extensive|massive|substantial))\b"
)


class Features(NamedTuple):
    """What is read of n names, (n,) int64 each."""

    finding: Tensor
    """Place in `KEYS`; their number where none is named."""
    side: Tensor
    """Place in `SIDES`."""
    zone: Tensor
    """0 where none is named."""
    degree: Tensor
    """Place in `LEVELS`."""

    def take(self, rows: Tensor) -> Features:
        """Those of some names."""
        return Features(*(column[rows] for column in self))


def features(names: Sequence[str]) -> Features:
    """Finding, place and degree of names.

    >>> found = features(["small left effusion", "on the right", "heart"])
    >>> found.side.tolist(), found.degree.tolist(), (found.finding == len(KEYS)).tolist()
    ([1, 2, 0], [1, 0, 0], [False, True, True])
    """
    zones: dict[str, int] = {"": 0}
    rows = []
    for name in names:
        facts = read(name).facts
        fact = facts[0] if len(facts) == 1 else None
        side, _, zone = ((fact.location if fact else None) or _place(name) or "").partition(" ")
        degree = (fact.severity if fact else None) or _degree(name)
        known = side in SIDES
        number = zones.setdefault(zone if known else side, len(zones))
        rows.append(
            [
                KEYS.index(fact.finding) if fact else len(KEYS),
                SIDES.index(side) if known else 0,
                number,
                LEVELS.index(degree),
            ]
        )
    table = torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)
    return Features(*table.unbind(1))


def _place(name: str) -> str | None:
    lower = name.lower()
    bare = " ".join(re.sub(r"\b(?:the|side|sided|in|on|at)\b", "", lower).split())
    words = set(re.findall(r"[a-z]+", lower))
    for phrase in (lower, bare):
        if phrase in PLACE_WORDS:
            return str(PLACE_WORDS[phrase])
    if len(sides := words & {"left", "right"}) == 1:
        return str(next(iter(sides)))
    return "bilateral" if words & {"both", "bilateral", "bilaterally", "bases", "apices"} else None


def _degree(name: str) -> str:
    found = _DEGREE.search(name.lower())
    return (found.lastgroup or "") if found else ""


def findings_alike() -> Tensor:
    """(F + 1, F + 1) likeness of findings apart from place and degree; 0 with no finding."""
    table = torch.zeros(len(KEYS) + 1, len(KEYS) + 1)
    for row, one in enumerate(KEYS):
        for column, other in enumerate(KEYS):
            same_region = SAME_REGION if FINDINGS[one].region == FINDINGS[other].region else 0.0
            table[row, column] = 1.0 if one == other else RELATED if related(one, other) else same_region
    return table


def likeness(known: Features, base: Tensor, alike: Tensor) -> Tensor:
    """(n, n) cosines that names should have.

    Names of findings: those of the findings, less where places or degrees contradict each other. Places: by side and
    zone. A place and a finding: something where the sides agree. All else ("heart", "enlarged"): as the encoder has it,
    unless side or degree contradict.

    Args:
        known: Of n names.
        base: (n, n) cosines by the encoder, >= 0.
        alike: As of `findings_alike`.
    """
    side, zone, degree = ((column[:, None], column[None]) for column in (known.side, known.zone, known.degree))
    said, half = (side[0] > 0) & (side[1] > 0), (side[0] == 3) | (side[1] == 3)
    differ = said & (side[0] != side[1])
    opposed, partly = differ & ~half, differ & half
    zones = (zone[0] > 0) & (zone[1] > 0) & (zone[0] != zone[1])
    unsaid = (side[0] > 0) != (side[1] > 0)
    place = _pick(opposed, OPPOSITE, _pick(partly, HALF, 1.0)) * _pick(
        zones, OTHER_ZONE, _pick(unsaid, SIDE_UNSAID, 1.0)
    )
    gap, graded = (degree[0] - degree[1]).abs(), (degree[0] > 0) & (degree[1] > 0)
    amount = _pick(graded & (gap == 1), ONE_STEP, _pick(graded & (gap == 2), TWO_STEPS, 1.0))
    amount = amount * _pick((degree[0] > 0) != (degree[1] > 0), DEGREE_UNSAID, 1.0)
    finding = known.finding < len(KEYS)
    spot = ~finding & ((known.side > 0) | (known.zone > 0)) & (known.degree == 0)
    both, places = finding[:, None] & finding[None], spot[:, None] & spot[None]
    mixed = (finding[:, None] & spot[None]) | (spot[:, None] & finding[None])
    findings = alike[known.finding][:, known.finding] * place * amount
    spots = _pick(opposed, 0.0, _pick(partly, 0.45, _pick(zones, 0.3, _pick(zone[0] == zone[1], 1.0, 0.7))))
    crossed = _pick(said, 0.45, 0.1) * _pick(opposed, 0.0, _pick(partly, 0.5, 1.0))
    other = base * _pick(opposed, OPPOSITE, 1.0) * amount
    return torch.where(both, findings, torch.where(places, spots, torch.where(mixed, crossed, other)))


def _pick(where: Tensor, value: float, other: Tensor | float) -> Tensor:
    return torch.where(where, torch.tensor(value), torch.as_tensor(other))
