import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.models.taggers import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No edema. No effusion.", ["No edema.", "No effusion."]),
        ("A 2.5 cm mass. Tip 4.0 cm above.", ["A 2.5 cm mass.", "Tip 4.0 cm above."]),
        ("1. Edema. 2. Mass.", ["1. Edema.", "2. Mass."]),
        ("Seen by Dr. XXXX at 4 p.m. today.", ["Seen by Dr. XXXX at 4 p.m. today."]),
        ("Scar vs. nodule.", ["Scar vs. nodule."]),
        ("XXXX in the apex.There is scar.", ["XXXX in the apex.", "There is scar."]),
        ("Clear.. . Normal", ["Clear..", "Normal"]),
        ("FINDINGS:\n- Edema\n- Mass in\nthe left lung", ["FINDINGS:", "- Edema", "- Mass in\nthe left lung"]),
        ("Edema\n\nMass", ["Edema", "Mass"]),
        ("Seen (old.) New.", ["Seen (old.", "New."]),
        ("   ", []),
        ("", []),
        (" ... ", []),
    ],
)
def test_splits(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@given(st.text(alphabet="aAX1.\n -!?)", max_size=60))
def test_nothing_is_lost(text: str) -> None:
    spans = sentences(text)
    flat = [place for span in spans for place in span]
    assert flat == sorted(flat)
    covered = {at for start, end in spans for at in range(start, end)}
    assert {at for at, char in enumerate(text) if char.isalnum()} <= covered
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
