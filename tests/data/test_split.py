from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.data.split import is_held_out

references = st.text(st.characters(exclude_categories=["Cs"]))


@given(references, st.integers(0, 9))
def test_is_held_out_ignores_case_and_white_space(reference: str, seed: int) -> None:
    equivalent = f"  {reference.casefold()}\n"
    assert is_held_out(reference, 0.5, seed) == is_held_out(equivalent, 0.5, seed)


@given(references, st.floats(0, 1), st.floats(0, 1))
def test_is_held_out_larger_fraction_contains_smaller(reference: str, first: float, second: float) -> None:
    assert is_held_out(reference, min(first, second)) <= is_held_out(reference, max(first, second))
    assert not is_held_out(reference, 0)
    assert is_held_out(reference, 1)


def test_is_held_out_matches_fraction_and_depends_on_seed() -> None:
    names = [f"Reference {number}." for number in range(4000)]
    parts = [[is_held_out(name, 0.2, seed) for name in names] for seed in (0, 1)]
    for part in parts:
        assert 700 < sum(part) < 900  # 800 ± 4 standard deviations of a binomial
    assert parts[0] != parts[1]


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan")])
def test_is_held_out_fraction_out_of_range_raises(fraction: float) -> None:
    with pytest.raises(ValueError, match=r"Expected `fraction` to be in \[0, 1\]"):
        is_held_out("Clear.", fraction)
