"""Advantages and their scales equal loops and formulas."""

import math
import statistics
from collections import Counter
from fractions import Fraction
from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.objectives.functional.advantages import group_advantages, majority_mask, mgas_scale

REWARDS = st.lists(st.floats(-3, 3, width=32), min_size=2, max_size=6)
ANSWERS = st.lists(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.4, 2.0, math.nan]), min_size=2, max_size=2), min_size=2, max_size=6
)


@given(REWARDS)
def test_group_advantages_match_loop(rewards: list[float]) -> None:
    mean, deviation = statistics.mean(rewards), statistics.stdev(rewards)
    expected = [(reward - mean) / (deviation + 1e-4) for reward in rewards]
    result = group_advantages(torch.tensor([rewards], dtype=torch.float64))
    assert result[0].tolist() == pytest.approx(expected, abs=1e-9)
    assert result.sum().item() == pytest.approx(0, abs=1e-9)


def test_group_advantages_zero_for_equal_rewards() -> None:
    assert group_advantages(torch.full((1, 7), 0.1)).tolist() == [[0.0] * 7]


@pytest.mark.parametrize("shape", [(2, 1), (4,)])
def test_group_advantages_require_two_completions(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="G >= 2"):
        group_advantages(torch.zeros(shape))


def majority_by_counting(answers: list[list[float]]) -> list[bool]:
    """Return the majority mask by counting."""
    vectors = [tuple(math.floor(v + 0.5) for v in a) if not any(map(math.isnan, a)) else None for a in answers]
    valid = [vector for vector in vectors if vector is not None]
    if not valid:
        return [False] * len(answers)
    counts = Counter(valid)
    mean = [Fraction(sum(vector[j] for vector in valid), len(valid)) for j in range(len(valid[0]))]
    tied = [vector for vector in valid if counts[vector] == max(counts.values())]
    winner = min(tied, key=lambda vector: (sum((v - m) ** 2 for v, m in zip(vector, mean, strict=True)), vector))
    return [vector == winner for vector in vectors]


@given(ANSWERS)
def test_majority_mask_matches_manual_count(answers: list[list[float]]) -> None:
    assert majority_mask(torch.tensor([answers], dtype=torch.float64))[0].tolist() == majority_by_counting(answers)


def test_majority_mask_breaks_tie_by_distance_to_mean() -> None:
    values = torch.tensor([[[0.0], [0.0], [4.0], [4.0], [5.0]]])  # mean 2.6
    assert majority_mask(values)[0].tolist() == [False, False, True, True, False]


def test_majority_mask_tie_unaffected_by_rounding() -> None:
    # Three vectors at equal distance from their mean, whose components are thirds: the lexicographically first wins.
    values = torch.tensor([[[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]])
    for order in permutations(range(3)):
        result = majority_mask(values[:, list(order)])[0].tolist()
        assert result == [index == 0 for index in order]


@pytest.mark.parametrize("psi", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize(("beta", "c"), [(10.0, 0.5), (3.0, 0.2), (0.0, 1.0)])
def test_mgas_scale_matches_formula(psi: float, beta: float, c: float) -> None:
    logistic = 0.8 + 0.4 / (1 + math.exp(beta * (psi - c)))
    base = 1 + (psi - c)
    published = min(1.2, 0.8 + 0.4 * (base**-beta if base or not beta else math.inf))
    psi_tensor = torch.tensor(psi, dtype=torch.float64)
    assert mgas_scale(psi_tensor, beta, c).item() == pytest.approx(logistic)
    assert mgas_scale(psi_tensor, beta, c, as_published=True).item() == pytest.approx(published)


def test_mgas_scale_as_published_is_clipped() -> None:
    psi = torch.linspace(0, 1, 101)
    for c in (0.0, 0.5, 1.0):
        scale = mgas_scale(psi, 10.0, c, as_published=True)
        assert scale.isfinite().all()
        assert ((scale >= 0.8) & (scale <= 1.2)).all()
