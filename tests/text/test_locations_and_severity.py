import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.locations import LOCATION_WORDS, LOCATIONS, mirror_side
from radreward.text.severity import SEVERITY_LEVELS, SEVERITY_OF_PHRASE, SEVERITY_SCALES, SEVERITY_WORDS, first_severity


@pytest.mark.parametrize(
    ("text", "lobes", "mirrored"),
    [
        ("Left effusion.", True, "Right effusion."),
        ("RLL and lul opacities", True, "LLL and rul opacities"),
        ("RLL and left-sided opacities", False, "RLL and right-sided opacities"),
        ("bilateral, leftover", True, "bilateral, leftover"),
    ],
)
def test_mirror_side_exchanges_left_and_right(text: str, lobes: bool, mirrored: str) -> None:
    assert mirror_side(text, lobes) == mirrored


@given(st.text() | st.lists(st.sampled_from(sorted(LOCATION_WORDS))).map(" ".join), st.booleans())
def test_mirror_side_twice_is_identity(text: str, lobes: bool) -> None:
    assert mirror_side(mirror_side(text, lobes), lobes) == text


def test_mirror_side_returns_canonical_locations() -> None:
    for group in ("side", "lung"):
        assert {mirror_side(location) for location in LOCATIONS[group]} == set(LOCATIONS[group])


def test_severity_scales_agree_with_levels() -> None:
    for scale in SEVERITY_SCALES:
        assert [SEVERITY_LEVELS[SEVERITY_OF_PHRASE[word]] for word in scale] == [0, 1, 2]


@pytest.mark.parametrize("severity", SEVERITY_WORDS)
def test_first_severity_recognizes_every_adjective(severity: str) -> None:
    for word in SEVERITY_WORDS[severity]:
        assert first_severity(f"{word} effusion, severe edema") == ("mild" if word.startswith("mild") else severity)
