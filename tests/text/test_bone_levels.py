"""Levels of ribs and vertebrae: every word for them is read, neighbors are near, and lists are no level."""

from random import Random

import pytest

from radreward.synthesis.noun_phrases import noun_phrase
from radreward.text.bone_levels import LEVELS, RIBS, SUFFIXES, VERTEBRAE
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.locations import LOCATION_WORDS, are_neighbors, contains_location
from radreward.text.sentence_parser import sentence_facts


@pytest.mark.parametrize("place", sorted(LEVELS))
def test_every_word_for_a_level_is_read(place: str) -> None:
    finding = "ribfx" if place in RIBS else "vertfx"
    words = [phrase for phrase, location in LOCATION_WORDS.items() if location == place]
    assert len(words) > len(SUFFIXES[place])
    for phrase in SUFFIXES[place]:
        [fact] = sentence_facts(f"Acute fracture {phrase}.")
        assert (fact.finding, fact.location) == (finding, place), phrase


@pytest.mark.parametrize("key", [key for key, finding in FINDINGS.items() if LEVELS & set(finding.locations)])
def test_findings_at_every_level_have_a_phrase_that_is_read(key: str) -> None:
    rng = Random(key)
    for place in FINDINGS[key].locations:
        fact = Fact(key, location=place)
        assert sentence_facts(f"There is {noun_phrase(fact, rng).with_article}.") == (fact,)


def test_adjacent_levels_are_neighbors_and_belong_to_their_side_or_region() -> None:
    assert are_neighbors("left rib4", "left rib5")
    assert are_neighbors("thoracic T12", "lumbar L1")
    assert not are_neighbors("left rib4", "left rib6")
    assert not are_neighbors("left rib12", "right rib1")
    assert all(contains_location(place, place.split(" ")[0]) for place in (*RIBS, *VERTEBRAE))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Left fourth and fifth rib fractures.", "left"),
        ("Rib fractures on the right, ribs 4 to 6.", "right"),
        ("Compression fractures of T8 and T9.", "thoracic"),
    ],
)
def test_a_list_of_levels_states_the_side_or_region_only(text: str, place: str) -> None:
    assert [fact.location for fact in sentence_facts(text)] == [place]
