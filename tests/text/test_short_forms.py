"""Sides, changes and distances in short forms."""

import pytest

from radreward.text.facts import Fact
from radreward.text.sentence_parser import sentence_facts


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Small R/L effusions.", Fact("effusion", location="bilateral", severity="mild")),
        ("R > L effusions.", Fact("effusion", location="bilateral")),
        ("Pleural effusions, L>R.", Fact("effusion", location="bilateral")),
        ("Left lung is clear and the right lung is collapsed.", Fact("collapse", location="right")),
        ("The left lung is clear; on the right, there is an effusion.", Fact("effusion", location="right")),
        ("Moderate, and left, effusion.", Fact("effusion", location="left", severity="moderate")),
        ("Effusion without change.", Fact("effusion", change="stable")),
        ("Endotracheal tube terminates 1.0 cm above the carina.", Fact("ettlow", location="at carina")),
        ("ETT is 12 mm from the carina.", Fact("ettlow", location="at carina")),
        ("The ETT is 2 cm proximal to the carina.", Fact("ett", location="above carina")),
    ],
)
def test_sides_changes_and_distances_in_short_forms(text: str, fact: Fact) -> None:
    assert sentence_facts(text) == (fact,)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (
            "Two nodules, 5 mm in the right upper lobe and 8 mm in the left lower lobe.",
            {"right upper": 5, "left lower": 8},
        ),
        ("Mass 3 cm in the right upper lobe.", {"right upper": 30}),
        ("Nodule (6 mm) in the lingula.", {"left middle": 6}),
        ("A left lung nodule of about 7 mm is seen.", {"left": 7}),
        ("Nodule 2 cm above the left hemidiaphragm.", {"left lower": None}),
    ],
)
def test_sizes_after_a_name_or_before_its_places(text: str, sizes: dict[str, float | None]) -> None:
    assert {fact.location: fact.size for fact in sentence_facts(text)} == sizes
