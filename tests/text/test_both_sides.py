"""Both sides of a finding in one phrase."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.synthesis.grammar import joint_sentence
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, MALPOSITIONED
from radreward.text.locations import LOCATION_SUFFIXES
from radreward.text.sentence_parser import parse_sentence, sentence_facts
from radreward.text.severity import SEVERITY_WORDS

LATERAL = [key for key, finding in FINDINGS.items() if "left" in finding.locations]


@given(
    st.sampled_from(LATERAL),
    st.lists(st.sampled_from([None, *SEVERITY_WORDS]), min_size=2, max_size=2),
    st.booleans(),
    st.integers(0, 1000),
)
def test_sentences_for_two_sides_are_read_back(
    key: str, severities: list[str | None], swapped: bool, seed: int
) -> None:
    sides = ["right", "left"] if swapped else ["left", "right"]
    graded = FINDINGS[key].has_severity
    facts = [
        Fact(key, location=side, severity=severity if graded else None)
        for side, severity in zip(sides, severities, strict=True)
    ]
    sentence = joint_sentence(facts, Random(seed))
    assert set(sentence_facts(sentence.text)) == set(facts), sentence.text


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Effusions on the left and right.", [("effusion", "left", None), ("effusion", "right", None)]),
        (
            "Cardiomegaly with small left and a moderate right pleural effusion.",
            [("cardiomegaly", None, None), ("effusion", "left", "mild"), ("effusion", "right", "moderate")],
        ),
        (
            "Small right and left lower lobe opacities.",
            [("opacity", "right lower", "mild"), ("opacity", "left lower", "mild")],
        ),
        ("Scar on the left and right effusion.", [("scar", "left", None), ("effusion", "right", None)]),
    ],
)
def test_sides_belong_to_the_finding_that_the_clause_names(
    text: str, facts: list[tuple[str, str | None, str | None]]
) -> None:
    assert [(fact.finding, fact.location, fact.severity) for fact in sentence_facts(text)] == facts


def test_negated_sides_are_one_absent_finding() -> None:
    assert sentence_facts("No left and right effusion.") == (Fact("effusion", "absent"),)


def test_sentence_about_two_sides_is_not_complete() -> None:
    assert not parse_sentence("Left and right effusions.").is_complete


@pytest.mark.parametrize("tube", MALPOSITIONED)
def test_tube_with_its_tip_in_a_wrong_place_is_malpositioned(tube: str) -> None:
    name = FINDINGS[tube].plain_names[0].capitalize()
    for key in (tube, MALPOSITIONED[tube]):
        for location in FINDINGS[key].locations:
            for phrase in LOCATION_SUFFIXES[location]:
                assert sentence_facts(f"{name} {phrase}.") == (Fact(key, location=location),), phrase
