from collections import Counter, defaultdict
from typing import get_args

import pytest

from radreward.text.findings import FINDINGS, Finding, Urgency, ancestors
from radreward.text.locations import LOCATION_PREFIXES, LOCATION_SUFFIXES, LOCATIONS
from radreward.text.sentence_parser import sentence_facts
from radreward.text.severity import SEVERITY_WORDS

REGIONS = {"lungs", "pleura", "heart", "mediastinum", "bones", "devices", "abdomen"}


def test_findings_cover_all_regions_and_urgencies() -> None:
    assert len(FINDINGS) >= 60
    assert {finding.region for finding in FINDINGS.values()} == REGIONS
    assert {finding.urgency for finding in FINDINGS.values()} == set(get_args(Urgency))


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=list(FINDINGS))
def test_finding_is_complete_and_parsed(finding: Finding) -> None:
    assert len(set(finding.names)) == len(finding.names) >= 3
    assert finding.location_group in LOCATIONS
    assert finding.parent is None or finding.parent in FINDINGS
    assert len(set(ancestors(finding.key))) == len(ancestors(finding.key))
    for name in finding.plain_names:
        assert [fact.finding for fact in sentence_facts(f"There is {name}.")] == [finding.key]


def test_finding_names_are_unambiguous() -> None:
    names = Counter(name.lower() for finding in FINDINGS.values() for name in finding.plain_names)
    assert [name for name, count in names.items() if count > 1] == []


def test_location_and_severity_words_are_unambiguous() -> None:
    for table in (LOCATION_PREFIXES, LOCATION_SUFFIXES, SEVERITY_WORDS):
        meanings = defaultdict(set)
        for meaning, phrases in table.items():
            for phrase in phrases:
                meanings[phrase.lower()].add(meaning)
        assert [phrase for phrase, values in meanings.items() if len(values) > 1] == []


def test_every_location_has_words() -> None:
    locations = {location for group in LOCATIONS.values() for location in group}
    assert locations <= LOCATION_PREFIXES.keys() | LOCATION_SUFFIXES.keys()
