from collections import Counter, defaultdict
from typing import get_args

import pytest

from radreward.text.findings import (
    FINDINGS,
    LOCATION_PREFIXES,
    LOCATION_SUFFIXES,
    LOCATIONS,
    SEVERITY_WORDS,
    Finding,
    Urgency,
    ancestors,
)
from radreward.text.report_parser import sentence_facts

REGIONS = {"lungs", "pleura", "heart", "mediastinum", "bones", "devices", "abdomen"}


def test_at_least_sixty_findings() -> None:
    assert len(FINDINGS) >= 60
    assert {entry.region for entry in FINDINGS.values()} == REGIONS
    assert {entry.urgency for entry in FINDINGS.values()} == set(get_args(Urgency))


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=list(FINDINGS))
def test_a_finding_is_complete(finding: Finding) -> None:
    assert len(set(finding.names)) == len(finding.names) >= 3
    assert finding.location_group in LOCATIONS
    assert finding.parent is None or finding.parent in FINDINGS
    assert len(set(ancestors(finding.key))) == len(ancestors(finding.key))
    for noun in finding.names:
        assert [fact.finding for fact in sentence_facts(f"There is {noun.removeprefix('*')}.")] == [finding.key]


def test_no_name_means_two_findings() -> None:
    names = Counter(noun.removeprefix("*").lower() for entry in FINDINGS.values() for noun in entry.names)
    assert [name for name, count in names.items() if count > 1] == []


def test_no_words_mean_two_places_or_degrees() -> None:
    for table in (LOCATION_PREFIXES, LOCATION_SUFFIXES, SEVERITY_WORDS):
        meanings = defaultdict(set)
        for meaning, phrases in table.items():
            for phrase in phrases:
                meanings[phrase.lower()].add(meaning)
        assert [phrase for phrase, meant in meanings.items() if len(meant) > 1] == []


def test_every_place_has_words() -> None:
    said = {place for places in LOCATIONS.values() for place in places}
    assert said <= LOCATION_PREFIXES.keys() | LOCATION_SUFFIXES.keys()
