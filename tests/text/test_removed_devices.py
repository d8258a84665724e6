"""Devices that are removed or replaced, one by one and as lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.sentence_parser import sentence_facts

DEVICES = {"ett": "endotracheal tube", "ngt": "nasogastric tube", "picc": "PICC", "chesttube": "left chest tube"}


@given(
    st.permutations(sorted(DEVICES)),
    st.integers(1, 4),
    st.sampled_from(["Interval removal of the {}.", "The {} have been removed.", "The {} removed."]),
)
def test_all_devices_of_a_list_are_removed(keys: list[str], number: int, template: str) -> None:
    names = [DEVICES[key] for key in keys[:number]]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    facts = sentence_facts(template.format(listed))
    assert {(fact.finding, fact.polarity, fact.change) for fact in facts} == {
        (key, "absent", "resolved") for key in keys[:number]
    }


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The PICC has been exchanged for a central venous catheter.", {"picc": "absent", "cvc": "present"}),
        ("Replacement of the endotracheal tube by a tracheostomy tube.", {"ett": "absent", "trach": "present"}),
        ("The ETT and NGT have been removed; PICC remains.", {"ett": "absent", "ngt": "absent", "picc": "present"}),
        ("Left chest tube d/c'd.", {"chesttube": "absent"}),
        ("Pneumothorax after chest tube removal.", {"pneumothorax": "present", "chesttube": "absent"}),
        ("Awaiting removal of the chest tube.", {"chesttube": "present"}),
        ("One of the chest tubes has been removed.", {"chesttube": "present"}),
        ("Chest tube removal is pending.", {"chesttube": "present"}),
        ("ETT withdrawn, tip 4 cm above the carina.", {"ett": "present"}),
        ("Two left chest tubes, one of which has been removed.", {"chesttube": "present"}),
        ("The PICC has been withdrawn and now ends in the SVC.", {"picc": "present"}),
        ("Patient no longer has a chest tube.", {"chesttube": "absent"}),
    ],
)
def test_removed_replaced_and_remaining_devices(sentence: str, expected: dict[str, str]) -> None:
    assert {fact.finding: fact.polarity for fact in sentence_facts(sentence)} == expected
