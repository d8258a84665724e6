"""Facts that go together: what a reference may say."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from radreward.text.facts import Change, Fact
from radreward.text.findings import FINDINGS, ancestors, is_related
from radreward.text.locations import LOCATIONS
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
    (1.0, (("mass", 0.7), ("adenopathy", 0.5), ("effusion", 0.4), ("collapse", 0.3), ("metastases", 0.3))),
    (1.0, (("ribfx", 0.7), ("contusion", 0.4), ("pneumothorax", 0.4), ("clavfx", 0.3), ("hemothorax", 0.2))),
    (1.0, (("picc", 0.8), ("port", 0.3), ("effusion", 0.3), ("atelectasis", 0.3))),
    (1.0, (("interstitial", 0.8), ("fibrosis", 0.5), ("bronchiectasis", 0.4), ("peribronchial", 0.3))),
)


COMMON_FINDINGS = frozenset(
    (
        *("effusion", "pneumothorax", "atelectasis", "opacity", "consolidation", "pneumonia", "nodule", "emphysema"),
        *(
            "hyperinflation",
            "hypoinflation",
            "interstitial",
            "scar",
            "granuloma",
            "edema",
            "congestion",
            "cardiomegaly",
        ),
        *("widemed", "adenopathy", "tortuous", "hiatal", "degenerative", "ribfx"),
        *("ett", "ngt", "cvc", "picc", "chesttube", "pacemaker", "sternotomy"),
    )
)
"""What radiographs show every day; these come up four times as often as the others."""


def sample_findings(rng: Random, keys: Sequence[str], count: int) -> list[str]:
    """Findings drawn with repeats, the common ones more often."""
    return rng.choices(keys, [4 if key in COMMON_FINDINGS else 1 for key in keys], k=count)


def sample_fact(key: str, rng: Random) -> Fact:
    """A finding with place, degree, certainty and comparison, each stated or not."""
    finding = FINDINGS[key]
    places = LOCATIONS[finding.location_group]
    device = finding.region == "devices"
    location = rng.choice(places) or None if places and rng.random() < (0.6 if device else 0.8) else None
    severity = (
        rng.choices(tuple(SEVERITY_WORDS), (5, 3, 2))[0] if finding.has_severity and rng.random() < 0.55 else None
    )
    change: Change | None = None
    if finding.can_change and rng.random() < 0.4:
        options: tuple[Change, ...] = ("stable", "new") if device else ("new", "worse", "better", "stable")
        change = rng.choices(options, (4, 1) if device else (2, 2, 2, 4))[0]
    sure = device or change is not None or finding.urgency == "benign"
    unsure = not sure and rng.random() < (0.3 if key in ("pneumonia", "aspiration") else 0.1)
    return Fact(key, "uncertain" if unsure else "present", location, severity, change)


def sample_facts(rng: Random, max_findings: int | None = None, common_only: bool = False) -> tuple[Fact, ...]:
    """What a report may find: nothing in a fifth of reports, else most often a cluster and some findings of any kind.

    At least one and at most `most` of these, where a number is given; only those of `COMMON`, if so wanted.

    >>> sample_facts(Random(3)) == sample_facts(Random(3))
    True
    """
    if rng.random() < 0.2:
        return tuple(_sample_resolved(rng, []))
    keys: list[str] = []
    if rng.random() < 0.75:
        cluster = rng.choices([entry for _, entry in FINDING_CLUSTERS], [weight for weight, _ in FINDING_CLUSTERS])[0]
        keys += [key for key, share in cluster if rng.random() < share]
    keys += sample_findings(rng, tuple(FINDINGS), rng.choices((0, 1, 2, 3), (4, 4, 2, 1))[0])
    if common_only:
        keys = [key for key in keys if key in COMMON_FINDINGS]
    if max_findings is not None:
        keys = rng.sample(keys, k=min(len(keys), rng.randint(1, max_findings)))
    kept = remove_related(keys)
    return tuple(sample_fact(key, rng) for key in kept) + tuple(_sample_resolved(rng, kept))


def _sample_resolved(rng: Random, present: list[str]) -> list[Fact]:
    """Now and then a finding that is gone since the last study, and nothing like it there."""
    if rng.random() > 0.04:
        return []
    key = rng.choice(("pneumothorax", "effusion", "edema", "consolidation", "atelectasis"))
    return [] if any(is_related(key, other) for other in present) else [Fact(key, "absent", change="resolved")]


def remove_related(keys: list[str]) -> list[str]:
    """Findings without repeats, and without kinds of one another: "opacity, pneumonia" would be one finding twice."""
    kept: list[str] = []
    for key in keys:
        if not any(key in ancestors(other) or other in ancestors(key) for other in kept):
            kept.append(key)
    return kept
