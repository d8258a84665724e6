"""Tests of advantages from rewards, of averages of token losses and of difficulty-aware scaling against loops."""

from __future__ import annotations

import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.objectives import (
    GRPO,
    AdvantageEstimator,
    AllTokenAverage,
    CenteredAdvantage,
    CompletionAverage,
    DifficultyScaling,
    FixedLengthAverage,
    MedianAdvantage,
    StandardizedAdvantage,
)
from radreward.testing import AdvantageScalingConformance, RolloutObjectiveConformance, make_rollouts
from radreward.types import ParsedCompletions

ESTIMATORS = (StandardizedAdvantage(), CenteredAdvantage(), MedianAdvantage())
REWARDS = st.lists(st.integers(0, 20).map(lambda n: n / 10), min_size=2, max_size=8)


class TestDrGRPO(RolloutObjectiveConformance):
    objective = staticmethod(lambda: GRPO(estimator=CenteredAdvantage(), average=FixedLengthAverage(16), kl_coef=0.0))


class TestDAPO(RolloutObjectiveConformance):
    objective = staticmethod(lambda: GRPO(average=AllTokenAverage(), clip_epsilon_high=0.28, kl_coef=0.0))


class TestMedian(RolloutObjectiveConformance):
    objective = staticmethod(lambda: GRPO(estimator=MedianAdvantage(), scaling=DifficultyScaling(), kl_coef=0.0))


class TestDifficultyScaling(AdvantageScalingConformance):
    scaling = staticmethod(lambda: DifficultyScaling())


@given(REWARDS)
def test_advantages_match_formulas(rewards: list[float]) -> None:
    equal = len(set(rewards)) == 1
    spread = statistics.stdev(rewards) + 1e-4
    mean, median = statistics.mean(rewards), statistics.median(rewards)
    expected = (
        [(reward - mean) / spread for reward in rewards],
        [reward - mean for reward in rewards],
        [(reward - median) / spread for reward in rewards],
    )
    for estimator, values in zip(ESTIMATORS, expected, strict=True):
        actual = estimator(torch.tensor([rewards])).flatten().tolist()
        assert actual == pytest.approx([0.0] * len(rewards) if equal else values, abs=2e-5, rel=1e-4)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_equal_rewards_have_no_advantage(estimator: AdvantageEstimator) -> None:
    assert not estimator(torch.full((2, 3), 0.1)).any()


def test_averages_match_loops() -> None:
    rollouts = make_rollouts()
    losses = torch.randn(rollouts.mask.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    completions = [
        [float(losses[b, g, t]) for t in range(losses.shape[2]) if rollouts.mask[b, g, t]]
        for b in range(losses.shape[0])
        for g in range(losses.shape[1])
    ]
    tokens = sum(completions, [])
    expected = {
        CompletionAverage(): statistics.mean(statistics.mean(values) for values in completions),
        AllTokenAverage(): statistics.mean(tokens),
        FixedLengthAverage(10): sum(tokens) / 10 / len(completions),
    }
    for average, value in expected.items():
        assert average(losses, rollouts.mask).item() == pytest.approx(value)


def test_all_token_average_without_tokens_is_zero() -> None:
    assert AllTokenAverage()(torch.ones(1, 2, 3), torch.zeros(1, 2, 3, dtype=torch.bool)).item() == 0


def test_higher_clipping_range_keeps_gradient_above_one() -> None:
    rollouts = make_rollouts(shift=0.0)
    ratio_125 = rollouts._replace(
        logps=(rollouts.old_logps + math.log(1.25)).detach().requires_grad_(),
        advantages=torch.ones_like(rollouts.advantages),
    )
    clipped = GRPO(kl_coef=0.0)(ratio_125)
    unclipped = GRPO(kl_coef=0.0, clip_epsilon_high=0.28)(ratio_125)
    assert (clipped.loss.item(), unclipped.loss.item()) == pytest.approx((-1.2, -1.25))
    assert (clipped.logs["clipped"].item(), unclipped.logs["clipped"].item()) == (1.0, 0.0)


def test_difficulty_scaling_matches_formula() -> None:
    counts = torch.tensor([[[1.0], [0.0], [0.0], [torch.nan]], [[1.0], [1.0], [1.2], [0.0]]])
    completions = ParsedCompletions(
        error_counts=counts,
        target=torch.tensor([[1.0], [1.0]]),
        well_formed=counts.isfinite().all(-1),
        mentioned=counts.isfinite(),
        texts=(("",) * 4,) * 2,
        report_pairs=(("", ""),) * 2,
    )

    def weight(rate: float) -> float:
        return 0.4 + 1.1 / (1 + math.exp(10 * (rate - 0.75)))

    expected = [weight(0.25), *[weight(0.75)] * 3, *[weight(0.75)] * 3, weight(0.25)]
    assert DifficultyScaling()(completions, torch.zeros(2, 4)).flatten().tolist() == pytest.approx(expected)


def test_settings_out_of_range_are_rejected() -> None:
    with pytest.raises(ValueError, match="Expected `length` to be >= 1 but got 0."):
        FixedLengthAverage(0)
    with pytest.raises(ValueError, match="Expected `clip_epsilon_high` to be finite and > 0 but got 0.0."):
        GRPO(clip_epsilon_high=0.0)
    with pytest.raises(ValueError, match="Expected 0 <= `min_weight` <= `max_weight` but got 2.0 and 1.5."):
        DifficultyScaling(min_weight=2.0)
    with pytest.raises(ValueError, match="Expected `midpoint` to be in"):
        DifficultyScaling(midpoint=1.5)
    with pytest.raises(ValueError, match="Expected `steepness` to be finite and >= 0 but got -1."):
        DifficultyScaling(steepness=-1.0)
