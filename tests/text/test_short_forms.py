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
