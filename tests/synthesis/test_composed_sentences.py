"""Composed sentences: the parser reads their facts back, without an error in either direction."""

from random import Random

import pytest

from radreward.criteria.error_counting import compare_facts
from radreward.synthesis.composed_sentences import (
    alternatives_sentence,
    composed_sentence,
    denied_normality_sentence,
    list_of_places,
    shared_detail_sentence,
    sign_sentence,
    take_composed,
    two_sentences,
)
from radreward.synthesis.fact_sampling import sample_fact, sample_many_facts
from radreward.text.facts import Fact, Sentence
from radreward.text.findings import FINDINGS, remove_related
from radreward.text.report_parser import parse_report

KEYS = [key for key, finding in FINDINGS.items() if not finding.is_device]
SHARED = {
    "location": Fact("scar", location="left"),
    "severity": Fact("scar", severity="mild"),
    "change": Fact("scar", change="worse"),
    "polarity": Fact("scar", "uncertain"),
}


def assert_read_back(sentence: Sentence) -> None:
    parsed = parse_report(sentence.text).facts
    for reference, candidate in ((sentence.facts, parsed), (parsed, sentence.facts)):
        comparison = compare_facts(reference, candidate)
        assert not comparison.errors, (sentence.text, parsed)
        assert not comparison.weights.wrong, (sentence.text, parsed)


def _facts_that_share(detail: str, rng: Random) -> list[Fact]:
    """Return two to five unrelated facts with a detail in common and no other one, or fewer."""
    findings = [FINDINGS[key] for key in KEYS]
    allowed = {
        "location": [finding.key for finding in findings if "left" in finding.locations],
        "severity": [finding.key for finding in findings if finding.has_severity],
        "change": [finding.key for finding in findings if finding.can_change],
        "polarity": KEYS,
    }[detail]
    keys = remove_related(rng.sample(allowed, k=rng.randint(2, 5)))
    return [SHARED[detail]._replace(finding=key) for key in keys]


@pytest.mark.parametrize("detail", SHARED)
def test_shared_details_are_read_back_for_every_finding(detail: str) -> None:
    numbers = set()
    for seed in range(250):
        rng = Random(seed)
        facts = _facts_that_share(detail, rng)
        if sentence := shared_detail_sentence(facts, rng):
            numbers.add(len(facts))
            assert sentence.facts == tuple(facts)
            assert_read_back(sentence)
    assert numbers == {2, 3, 4, 5}


def test_facts_that_share_nothing_have_no_composed_sentence() -> None:
    for facts in ((), (Fact("effusion"), Fact("scar", "absent")), (Fact("effusion"), Fact("ribfx"))):
        assert composed_sentence(facts, Random(0)) is None
    assert shared_detail_sentence([Fact("ett", location="above carina")] * 2, Random(0)) is None


@pytest.mark.parametrize("key", ["opacity", "nodule", "scar", "cavity", "granuloma", "atelectasis"])
def test_places_of_a_list_are_read_as_one_fact_each(key: str) -> None:
    zones = ["left upper", "right lower", "left lower", "right middle", "left middle"]
    for seed in range(20):
        rng = Random(seed)
        facts = [Fact(key, location=place) for place in rng.sample(zones, k=rng.choice((2, 3)))]
        sentence = list_of_places(facts, rng)
        assert sentence is not None
        assert {fact.location for fact in parse_report(sentence.text).facts} == {fact.location for fact in facts}
        assert_read_back(sentence)


def test_alternatives_and_signs_are_one_finding() -> None:
    opacity, tension = Fact("opacity", location="right lower"), Fact("tension", location="left")
    for seed in range(40):
        alternatives, signs = alternatives_sentence(opacity, Random(seed)), sign_sentence(tension, Random(seed))
        assert alternatives is not None
        assert signs is not None
        assert parse_report(alternatives.text).facts == (opacity,)
        for facts in (signs.facts, parse_report(signs.text).facts):
            assert len(compare_facts(facts, ()).errors) == 1
            assert not compare_facts([tension], facts).errors


@pytest.mark.parametrize("key", KEYS)
def test_sentences_of_single_facts_are_read_back(key: str) -> None:
    for seed in range(12):
        rng = Random(seed)
        fact = sample_fact(key, rng)
        for writer in (alternatives_sentence, two_sentences, denied_normality_sentence, sign_sentence):
            if sentence := writer(fact, rng):
                assert sentence.facts[0] == fact
                assert_read_back(sentence)


def test_take_composed_moves_facts_into_sentences() -> None:
    taken = 0
    for seed in range(100):
        facts = list(sample_many_facts(Random(seed), 7))
        remaining = list(facts)
        sentences = take_composed(remaining, Random(seed), "findings", 1.0)
        stated = [fact for sentence in sentences for fact in sentence.facts]
        taken += len(facts) - len(remaining)
        assert set(facts) <= {*remaining, *stated}
        assert not compare_facts(facts, [*remaining, *stated]).errors
        assert take_composed(list(facts), Random(seed), "findings", 0.0) == []
    assert taken > 200
