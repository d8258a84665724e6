"""Tests of fact sampling: joint findings, frequencies, and no duplicates."""

from collections import Counter
from itertools import permutations
from random import Random

import pytest

from radreward.synthesis.fact_sampling import (
    COMMON_FINDINGS,
    FINDING_CLUSTERS,
    sample_fact,
    sample_facts,
    sample_findings,
)
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, ancestors, is_related, remove_related
from radreward.text.locations import LOCATIONS
from radreward.text.severity import SEVERITY_WORDS

SAMPLES = [sample_facts(Random(seed)) for seed in range(4000)]


def test_clusters_and_common_findings_are_in_vocabulary() -> None:
    assert {key for _, cluster in FINDING_CLUSTERS for key, _ in cluster} | COMMON_FINDINGS <= FINDINGS.keys()
    for _, cluster in FINDING_CLUSTERS:
        assert len({key for key, _ in cluster}) == len(cluster)
        assert all(0 < share <= 1 for _, share in cluster)


def test_sample_facts_max_findings_is_upper_limit() -> None:
    counts = Counter(
        len([fact for fact in sample_facts(Random(seed), max_findings=3) if fact.positive]) for seed in range(1000)
    )
    assert set(counts) == {0, 1, 2, 3}
    assert max(len([fact for fact in facts if fact.positive]) for facts in SAMPLES) > 3


def test_sample_findings_weights_common_findings() -> None:
    keys = tuple(FINDINGS)
    counts = Counter(sample_findings(Random(0), keys, 40_000))
    mean = {
        common: sum(counts[key] for key in keys if (key in COMMON_FINDINGS) == common)
        / sum((key in COMMON_FINDINGS) == common for key in keys)
        for common in (True, False)
    }
    assert mean[True] / mean[False] == pytest.approx(4, rel=0.1)
    assert set(counts) == set(keys)


def test_sample_facts_prefers_common_findings() -> None:
    counts = Counter(fact.finding for facts in SAMPLES for fact in facts)
    assert sum(counts[key] for key in COMMON_FINDINGS) > 0.6 * counts.total()
    assert counts.keys() == GENERATED_FINDINGS.keys()


def test_sample_facts_normal_report_frequency() -> None:
    assert 0.2 < sum(not any(fact.positive for fact in facts) for facts in SAMPLES) / len(SAMPLES) < 0.3


def test_remove_related_leaves_unrelated_findings() -> None:
    for facts in SAMPLES:
        assert not [pair for pair in permutations(facts, 2) if is_related(pair[0].finding, pair[1].finding)]
    assert remove_related(["pneumonia", "opacity", "effusion", "effusion"]) == ["pneumonia", "effusion"]


@pytest.mark.parametrize("key", FINDINGS)
def test_sample_fact_fits_finding(key: str) -> None:
    finding = FINDINGS[key]
    facts = [sample_fact(key, Random(seed)) for seed in range(200)]
    assert {fact.location for fact in facts} <= {*LOCATIONS[finding.location_group], None} - {""}
    assert {fact.severity for fact in facts} == ({*SEVERITY_WORDS, None} if finding.has_severity else {None})
    assert all(fact.change is None or finding.can_change for fact in facts)
    assert all(fact.positive for fact in facts)
    if finding.region == "devices":
        assert {fact.polarity for fact in facts} == {"present"}
        assert {fact.change for fact in facts} <= {"new", "stable", None}
    assert not [fact for fact in facts if fact.polarity == "uncertain" and fact.change]


def test_sample_facts_resolved_finding_is_absent() -> None:
    resolved = [(fact, facts) for facts in SAMPLES for fact in facts if fact.change == "resolved"]
    assert resolved
    for fact, facts in resolved:
        assert fact.polarity == "absent"
        assert not [entry for entry in facts if entry.positive and fact.finding in ancestors(entry.finding)]
