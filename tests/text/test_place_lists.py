"""Lists of places of one finding, whose places may share a side or a noun."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.sentence_parser import sentence_facts

SIDES = st.sampled_from(("left", "right"))
ZONES = st.sampled_from(("upper", "lower"))


@pytest.mark.parametrize(
    ("sentence", "places"),
    [
        ("Nodules in the right upper lobe and left lower lobe.", ["right upper", "left lower"]),
        (
            "Opacities in the right upper, right lower and left lower lobes.",
            ["right upper", "right lower", "left lower"],
        ),
        ("Right middle and lower lobe pneumonia.", ["right middle", "right lower"]),
        ("RUL and LLL consolidation.", ["right upper", "left lower"]),
        ("Opacities in the upper and lower lobes on the right.", ["right upper", "right lower"]),
        ("Opacities in both upper lobes and the right base.", ["bilateral upper", "right lower"]),
        ("Opacities in the right upper and left lower lobes are unchanged.", ["right upper", "left lower"]),
        # what follows the first place is no place of the finding
        ("Opacity in the right lower lobe and the left lung is clear.", ["right lower"]),
        ("Opacity in the right lower lobe, left lung is clear.", ["right lower"]),
        ("Opacity in the right lower lobe and left shoulder hardware.", ["right lower"]),
        ("Opacity in the right upper lobe and right lower lobe bronchi are patent.", ["right upper"]),
        ("Right upper lobe is clear and left lower lobe atelectasis.", ["left lower"]),
        ("Consolidation in the right upper lobe and left lower lobe atelectasis.", ["right upper", "left lower"]),
        ("Possible pneumonia in the right lung base.", ["right lower"]),
    ],
)
def test_list_states_the_finding_once_per_place(sentence: str, places: list[str]) -> None:
    assert [fact.location for fact in sentence_facts(sentence)] == places


@given(SIDES, ZONES, SIDES, ZONES)
def test_list_before_and_after_the_name_state_the_same(side: str, zone: str, other_side: str, other_zone: str) -> None:
    first, second = f"{side} {zone} lobe", f"{other_side} {other_zone} lobe"
    before = sentence_facts(f"{first.capitalize()} and {second} nodules.")
    after = sentence_facts(f"Nodules in the {first} and {second}.")
    assert {fact.location for fact in before} == {fact.location for fact in after}
    assert {fact.location for fact in after} == {f"{side} {zone}", f"{other_side} {other_zone}"}


def test_denied_list_denies_the_finding_once() -> None:
    [fact] = sentence_facts("No nodules in the right upper lobe and left lower lobe.")
    assert (fact.finding, fact.polarity) == ("nodule", "absent")
