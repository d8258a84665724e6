"""Standard wording: no normal statements, sizes in mm, and no abbreviations."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.abbreviations import ABBREVIATIONS, write_out
from radreward.text.standard_wording import may_report_finding, standard_wording

PIECES = st.sampled_from(
    [
        *ABBREVIATIONS,
        *("1.2 cm", "12-mm", "3 x 2.5 cm", "nodule", "a", ",", ".", "and/or", "R/O", "T/L spine", "é", "w/tip"),
        *("No effusion.", "The heart is normal.\n"),
    ]
)
TEXTS = st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=8).map(" ".join))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A 1.2 cm nodule.", "A 12 mm nodule."),
        ("A 12-mm nodule.", "A 12 mm nodule."),
        ("Mass of 2.5cm x 3cm.", "Mass of 25 mm x 30 mm."),
        ("0.55 cm", "5.5 mm"),
        ("A 1.2 X 3 CM MASS.", "A 12 X 30 mm MASS."),
        ("Pneumonia in the rll.", "Pneumonia in the right lower lobe."),
        ("R-sided effusion, L apex clear", "right-sided effusion, left apex clear"),
        ("Line w/tip in SVC w/o PTX", "Line with tip in superior vena cava without pneumothorax"),
        ("T/L spine, L spine, L5, Dr. R.", "T/L spine, L spine, L5, Dr. R."),
        ("r lung", "r lung"),
        ("Swan-Ganz, c/w edema", "Swan-Ganz, c/w edema"),
        ("1.5.2 cm", "1.5.2 cm"),
        ("No effusion. RLL opacity. The heart is normal.", "right lower lobe opacity."),
        ("Scar.  Mass of 1 cm.\n\nEdema. It is new. Scar.", "Edema. It is new. Mass of 10 mm. Scar."),
        ("No acute disease.", ""),
    ],
)
def test_standard_wording(text: str, expected: str) -> None:
    assert standard_wording(text).text == expected


@given(TEXTS)
def test_every_character_has_an_origin(text: str) -> None:
    wording = standard_wording(text)
    position = 0
    for number, (start, end) in enumerate(wording.parts):
        is_replaced = number % 2
        while position < (wording.starts[number + 1] if number + 1 < len(wording.parts) else len(wording.text)):
            origin = wording.original_span(position, position + 1)
            assert origin == (start, end) if is_replaced else text[slice(*origin)] == wording.text[position]
            position += 1
    assert position == len(wording.text)


STATEMENTS = st.sampled_from(
    ["No effusion.", "Small R effusion.", "Mass of 1.2 cm.", "Edema. It is new.", "Scar! These are old."]
)


@given(st.lists(STATEMENTS, max_size=6), st.randoms(use_true_random=False))
def test_order_and_repetitions_of_statements_do_not_matter(statements: list[str], rng: Random) -> None:
    expected = standard_wording(" ".join(statements)).text
    rng.shuffle(statements)
    assert standard_wording("  ".join([*statements, *statements[:1]])).text == expected


@given(st.lists(STATEMENTS.filter(lambda text: " R" not in text), max_size=6).map(" ".join), st.integers(1, 200))
def test_original_start_has_the_first_characters_of_the_wording(text: str, end: int) -> None:
    wording = standard_wording(f"{text} Left apical scar.")
    start = standard_wording(wording.original_start(min(end, len(wording.text)))).text
    assert start.startswith(wording.text[:end].rstrip())
    assert wording.text.startswith(start)


@given(TEXTS)
def test_one_statement_without_sizes_and_abbreviations_stays(text: str) -> None:
    wording = standard_wording(text)
    if len(wording.parts) == 1:
        assert wording.text in text


@given(st.floats(0.1, 99.9).map(lambda size: round(size, 1)))
def test_a_size_reads_the_same_in_both_units(size: float) -> None:
    assert standard_wording(f"{size:g} cm").text == standard_wording(f"{round(10 * size, 2):g} mm").text


def test_abbreviated_denials_report_no_finding() -> None:
    assert not any(map(may_report_finding, ("Lungs clear w/o PTX or effusion.", "Normal lungs w/o PTX.")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Effusion (R).", "Effusion (right)."),
        ("Fracture of the L 5th rib.", "Fracture of the left 5th rib."),
        ("Shift to the L.", "Shift to the left."),
        ("L-spine, L-S junction", "L-spine, L-S junction"),
    ],
)
def test_single_letters_are_sides_before_words_and_ordinals(text: str, expected: str) -> None:
    assert write_out(text) == expected
