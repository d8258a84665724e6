"""Sampling of facts that occur together, for generated reports."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from radreward.text.bone_levels import LEVELS
from radreward.text.facts import Change, Fact
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, Finding, is_related, remove_related
from radreward.text.measurements import MEASURED_FINDINGS
from radreward.text.severity import SEVERITY_WORDS

FINDING_CLUSTERS: tuple[tuple[float, tuple[tuple[str, float], ...]], ...] = (
    (3.0, (("edema", 0.8), ("cardiomegaly", 0.8), ("effusion", 0.7), ("congestion", 0.5), ("atelectasis", 0.4))),
    (3.0, (("ett", 0.7), ("ngt", 0.6), ("cvc", 0.6), ("atelectasis", 0.5), ("effusion", 0.5), ("edema", 0.3))),
    (2.5, (("consolidation", 0.6), ("pneumonia", 0.7), ("effusion", 0.4), ("opacity", 0.4))),
    (2.0, (("opacity", 0.9), ("atelectasis", 0.6), ("hypoinflation", 0.5), ("effusion", 0.3))),
    (1.5, (("emphysema", 0.7), ("hyperinflation", 0.7), ("scar", 0.4), ("nodule", 0.3), ("bulla", 0.2))),
    (1.5, (("chesttube", 0.7), ("pneumothorax", 0.8), ("subq", 0.4), ("effusion", 0.4), ("atelectasis", 0.3))),
    (1.5, (("sternotomy", 0.8), ("cardiomegaly", 0.6), ("pacemaker", 0.4), ("effusion", 0.4), ("valve", 0.3))),
    (1.5, (("degenerative", 0.7), ("tortuous", 0.5), ("aorticcalc", 0.5), ("osteopenia", 0.3), ("scoliosis", 0.3))),
    (1.2, (("granuloma", 0.6), ("calcnodes", 0.5), ("granulomatous", 0.4), ("scar", 0.4))),
    (3.0, (("nodule", 0.8), ("cavity", 0.4), ("effusion", 0.3), ("scar", 0.3), ("adenopathy", 0.2))),
    (2.0, (("mass", 0.8), ("adenopathy", 0.5), ("effusion", 0.4), ("collapse", 0.3), ("metastases", 0.3))),
    (1.0, (("ribfx", 0.7), ("contusion", 0.4), ("pneumothorax", 0.4), ("clavfx", 0.3), ("hemothorax", 0.2))),
    (1.0, (("picc", 0.8), ("port", 0.3), ("effusion", 0.3), ("atelectasis", 0.3))),
    (1.0, (("interstitial", 0.8), ("fibrosis", 0.5), ("bronchiectasis", 0.4), ("peribronchial", 0.3))),
)
"""Clusters of findings: weight of the cluster, and the probability of each finding."""

COMMON_FINDINGS = frozenset(
    (
        *("effusion", "pneumothorax", "atelectasis", "opacity", "consolidation", "pneumonia", "nodule", "emphysema"),
        *("hyperinflation", "hypoinflation", "interstitial", "scar", "granuloma", "edema", "congestion"),
        *("cardiomegaly", "widemed", "adenopathy", "tortuous", "hiatal", "degenerative", "ribfx"),
        *("ett", "ngt", "cvc", "picc", "chesttube", "pacemaker", "sternotomy"),
    )
)
"""Findings that are sampled four times as often as others."""

_BOTH_SIDES_SHARE = 0.2
"""Share of the findings with sides that a full-size report states once per side."""

_MORE_PLACES_SHARE = 0.2
"""Share of the other findings of the lung that a full-size report states at several places."""

_LEVEL_SHARE = 0.5
"""Share of the located fractures of ribs and vertebrae whose rib or vertebra is named."""

DIFFERENTIALS = {"atelectasis": "pneumonia", "pneumonia": "aspiration", "edema": "interstitial", "scar": "nodule"}
"""Another interpretation of the same appearance."""
SIZES: dict[str, tuple[float, ...]] = {
    severity: tuple(map(float, range(first, end)))
    for severity, first, end in (("mild", 3, 10), ("moderate", 10, 30), ("severe", 30, 71))
}
"""Sizes in mm of findings of each severity."""
ALL_SIZES = tuple(size for sizes in SIZES.values() for size in sizes)
_MEASURED_SHARE = 0.8
"""Share of the measured findings whose size is stated."""
_DOUBT_SHARE = 0.05
"""Share of the findings that `with_doubts` makes uncertain, in addition to those of `sample_fact`."""


def sample_findings(rng: Random, keys: Sequence[str], count: int) -> list[str]:
    """Return sampled findings, with repeats, common ones more often."""
    return rng.choices(keys, [4 if key in COMMON_FINDINGS else 1 for key in keys], k=count)


def sample_any_finding(rng: Random) -> str:
    """Return one sampled finding of the vocabulary."""
    return sample_findings(rng, tuple(GENERATED_FINDINGS), 1)[0]


def sample_fact(key: str, rng: Random) -> Fact:
    """Return a finding with sampled details; each may be missing."""
    finding = FINDINGS[key]
    location = None
    if finding.locations and rng.random() < (0.6 if finding.is_device else 0.8):
        location = _sample_location(finding, rng)
    severity = (
        rng.choices(tuple(SEVERITY_WORDS), (5, 3, 2))[0] if finding.has_severity and rng.random() < 0.55 else None
    )
    change: Change | None = None
    if finding.can_change and rng.random() < 0.4:
        changes: tuple[Change, ...] = ("stable", "new") if finding.is_device else ("new", "worse", "better", "stable")
        change = rng.choices(changes, (4, 1) if finding.is_device else (2, 2, 2, 4))[0]
    is_certain = finding.is_device or change is not None or finding.urgency == "benign"
    is_uncertain = not is_certain and rng.random() < (0.3 if key in ("pneumonia", "aspiration") else 0.1)
    size = None
    if key in MEASURED_FINDINGS and rng.random() < _MEASURED_SHARE:
        size = rng.choice(SIZES[severity] if severity else ALL_SIZES)
    return Fact(key, "uncertain" if is_uncertain else "present", location, severity, change, size)


def _sample_location(finding: Finding, rng: Random) -> str | None:
    """Return a location of a finding; a rib or a vertebra in half of the cases, though there are many."""
    levels = [place for place in finding.locations if place in LEVELS]
    if levels and rng.random() < _LEVEL_SHARE:
        return rng.choice(levels)
    return rng.choice([place for place in finding.locations if place not in LEVELS]) or None


def sample_plain_fact(key: str, rng: Random) -> Fact:
    """Return a certain finding without change, so that a sentence can list it with others."""
    return sample_fact(key, rng)._replace(polarity="present", change=None)


def sample_facts(rng: Random, max_findings: int | None = None, common_only: bool = False) -> tuple[Fact, ...]:
    """Return the facts of a report: none in a fifth of reports, otherwise mostly a cluster and some other findings.

    Args:
        rng: Source of randomness.
        max_findings: Maximum number of findings; no limit if None.
        common_only: Sample `COMMON_FINDINGS` only.

    >>> sample_facts(Random(3)) == sample_facts(Random(3))
    True
    """
    if rng.random() < 0.2:
        return tuple(_sample_resolved(rng, []))
    keys: list[str] = []
    if rng.random() < 0.75:
        cluster = rng.choices([entry for _, entry in FINDING_CLUSTERS], [weight for weight, _ in FINDING_CLUSTERS])[0]
        keys += [key for key, probability in cluster if rng.random() < probability]
    keys += sample_findings(rng, tuple(GENERATED_FINDINGS), rng.choices((0, 1, 2, 3), (4, 4, 2, 1))[0])
    if common_only:
        keys = [key for key in keys if key in COMMON_FINDINGS]
    if max_findings is not None:
        keys = rng.sample(keys, k=min(len(keys), rng.randint(1, max_findings)))
    keys = remove_related(keys)
    return tuple(sample_fact(key, rng) for key in keys) + tuple(_sample_resolved(rng, keys))


def sample_many_facts(rng: Random, count: int) -> tuple[Fact, ...]:
    """Return the facts of a report with many findings, some of them on both sides in different severity.

    Args:
        rng: Source of randomness.
        count: Number of findings.

    >>> len(sample_many_facts(Random(0), 7))
    7
    """
    keys: list[str] = []
    while len(keys) < count:
        cluster = rng.choices([entry for _, entry in FINDING_CLUSTERS], [weight for weight, _ in FINDING_CLUSTERS])[0]
        keys += [key for key, probability in cluster if rng.random() < probability]
        keys = remove_related([*keys, *sample_findings(rng, tuple(GENERATED_FINDINGS), rng.choice((0, 1, 1, 2)))])
    facts: list[Fact] = []
    for key in rng.sample(keys, k=count):
        if "left" in FINDINGS[key].locations and rng.random() < _BOTH_SIDES_SHARE:
            facts += _sample_both_sides(key, rng)
        elif FINDINGS[key].location_group == "lung" and rng.random() < _MORE_PLACES_SHARE:
            facts += _sample_places(key, rng)
        else:
            facts.append(sample_fact(key, rng))
    return tuple(facts[:count])


def with_doubts(facts: Sequence[Fact], rng: Random) -> tuple[Fact, ...]:
    """Return facts with some certain ones made uncertain, and with a second interpretation of some uncertain ones."""
    doubted: list[Fact] = []
    for fact in facts:
        finding = FINDINGS[fact.finding]
        if is_certain(fact) and not finding.is_device and finding.urgency != "benign" and rng.random() < _DOUBT_SHARE:
            fact = fact._replace(polarity="uncertain")
        doubted.append(fact)
        other = DIFFERENTIALS.get(fact.finding)
        if other and fact.polarity == "uncertain" and rng.random() < 0.4:
            stated = [entry.finding for entry in (*facts, *doubted)]
            if not any(is_related(other, key) for key in stated):
                doubted.append(Fact(other, "uncertain", fact.location))
    return tuple(doubted)


def is_certain(fact: Fact) -> bool:
    """Return True for a present finding without change."""
    return fact.polarity == "present" and not fact.change


def _sample_both_sides(key: str, rng: Random) -> list[Fact]:
    """Return a finding on the left and on the right, in the same zone, with equal or different severity."""
    locations = FINDINGS[key].locations
    zones = [place.removeprefix("left") for place in locations if place.startswith("left") and place not in LEVELS]
    zone = rng.choice([zone for zone in zones if f"right{zone}" in locations])
    severities: list[str | None] = [None, None]
    if FINDINGS[key].has_severity and rng.random() < 0.8:
        severities = list(rng.sample(tuple(SEVERITY_WORDS), k=2))
        severities[1] = severities[rng.random() < 0.5]
    sides = rng.sample(("left", "right"), k=2)
    return [Fact(key, "present", side + zone, severity) for side, severity in zip(sides, severities, strict=True)]


def _sample_places(key: str, rng: Random) -> list[Fact]:
    """Return a finding at two or three places of the lungs that do not contain each other, with the same details."""
    fact = sample_plain_fact(key, rng)._replace(size=None)
    zones = [place for place in FINDINGS[key].locations if " " in place and not place.startswith("bilateral")]
    return [fact._replace(location=place) for place in rng.sample(zones, k=rng.randint(2, 3))]


def _sample_resolved(rng: Random, present: list[str]) -> list[Fact]:
    """Return a resolved finding in 4 % of cases, unless a related one is present."""
    if rng.random() > 0.04:
        return []
    key = rng.choice(("pneumothorax", "effusion", "edema", "consolidation", "atelectasis"))
    return [] if any(is_related(key, other) for other in present) else [Fact(key, "absent", change="resolved")]
