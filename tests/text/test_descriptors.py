"""Words about a finding that exclude each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria.error_counting import count_errors
from radreward.text.described_facts import described_facts
from radreward.text.descriptors import SIDES, exclusions, find_descriptors
from radreward.text.fact_differences import find_differences
from radreward.text.fact_matching import FactMatch, match_facts
from radreward.text.facts import Fact
from radreward.text.report_reading import read_report
from radreward.text.section_files import read_sections

SETS = [
    dict(entry.split(" = ") for entry in line.split(" | "))
    for title, lines in read_sections("descriptors.txt").items()
    for line in lines
    if title != "none"
]
WORDS = [word for words in SETS for word in words]


def test_each_phrase_states_its_descriptor() -> None:
    assert len(WORDS) == len(set(WORDS))
    for words in SETS:
        assert len(words) >= 2
        for word, phrases in words.items():
            for phrase in phrases.split("; "):
                assert word in find_descriptors(f"the wires are {phrase} now"), phrase
    assert not SIDES & set(WORDS)


@given(st.lists(st.sampled_from(WORDS), max_size=4), st.lists(st.sampled_from(WORDS), max_size=4))
def test_exclusions_are_symmetric_and_need_one_set_without_a_common_word(first: list[str], second: list[str]) -> None:
    excluded = any(
        not words.keys().isdisjoint(first)
        and not words.keys().isdisjoint(second)
        and not any(word in first and word in second for word in words)
        for words in SETS
    )
    assert exclusions(first, second) == exclusions(second, first)
    assert bool(exclusions(first, second)) == excluded


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz -.,"), st.sampled_from(WORDS))
def test_any_text_has_sorted_known_descriptors(text: str, word: str) -> None:
    found = find_descriptors(f"{text} {word} {text}")
    assert list(found) == sorted(set(found))
    assert set(found) <= set(WORDS)


@pytest.mark.parametrize(
    ("reference", "candidate", "kinds"),
    [
        ("Anterior mediastinal mass.", "Posterior mediastinal mass.", {"location"}),
        ("Intact chest port.", "Broken chest port.", {"state"}),
        ("Tracheostomy tube in good position.", "Displaced tracheostomy tube.", {"state"}),
        ("Free air under the right hemidiaphragm.", "Free air under the left hemidiaphragm.", {"location"}),
        ("Right chest tube without kinking.", "Kinked right chest tube.", {"state"}),
        ("Solitary granuloma.", "Multiple granulomas.", {"state"}),
        ("Mediastinal mass.", "Posterior mediastinal mass.", set()),
        ("Anterior and posterior mediastinal mass.", "Posterior mediastinal mass.", set()),
        ("Pacemaker on the left with leads in the right atrium.", "Left pacemaker.", set()),
    ],
)
def test_excluded_descriptors_are_wrong_details(reference: str, candidate: str, kinds: set[str]) -> None:
    match = FactMatch(described_facts(reference), described_facts(candidate))
    assert {entry.detail for entry in find_differences(match) if entry.changes_care} == kinds
    assert sum(count_errors(match.reference, match.candidate).values()) == len(kinds)


def test_denials_have_no_descriptors() -> None:
    assert all(not fact.descriptors for fact in described_facts("No broken sternotomy wires or displaced fracture."))


def test_descriptors_of_one_finding_in_several_sentences_are_joined() -> None:
    facts = read_report("Posterior mediastinal mass. The mediastinal mass is calcified.").facts
    [match] = match_facts(facts, [Fact("medmass")])
    [merged] = match.reference
    assert merged.descriptors == ("calcified", "mediastinal", "posterior")


@pytest.mark.parametrize("side", sorted(SIDES))
def test_sides_are_descriptors_of_findings_without_locations_only(side: str) -> None:
    assert described_facts(f"Free air under the {side} hemidiaphragm.")[0].descriptors == (side,)
    assert described_facts(f"{side.capitalize()} pleural effusion.")[0].descriptors == ()


@pytest.mark.parametrize(
    ("words", "descriptor"),
    [("below", "in the stomach"), ("at", "at the cardia"), ("above", "in the esophagus")],
)
def test_tube_at_the_junction_is_where_the_word_before_it_puts_it(words: str, descriptor: str) -> None:
    [fact] = read_report(f"Nasogastric tube with side port {words} the gastroesophageal junction.").facts
    assert fact.descriptors == (descriptor,)
