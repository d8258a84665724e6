"""Tests of criterion weightings: formula and state of SDW, and its sums over ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, distributed

from radreward.errors import InputError
from radreward.objectives import (
    CriterionWeighting,
    DynamicWeighting,
    FixedWeighting,
    MarginRewardEnforcement,
    UniformWeighting,
)
from radreward.testing import make_reward_batch


def outcomes(seed: int, rows: int = 30, criteria: int = 4) -> tuple[Tensor, Tensor]:
    predicted, actual = torch.rand(2, rows, criteria, generator=torch.Generator().manual_seed(seed)) < 0.5
    return predicted, actual


def f1_score(predicted: list[bool], actual: list[bool]) -> float:
    """Return the harmonic mean of precision and recall."""
    true_positives = sum(p and a for p, a in zip(predicted, actual, strict=True))
    if not any(predicted) and not any(actual):
        return math.nan
    if not true_positives:
        return 0.0
    precision, recall = true_positives / sum(predicted), true_positives / sum(actual)
    return 2 * precision * recall / (precision + recall)


def sdw(f1: list[float], alpha: float) -> list[float]:
    mean = sum(f1) / len(f1)
    exponentials = [math.exp(alpha * (mean - value)) for value in f1]
    return [1 + value / sum(exponentials) for value in exponentials]


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.integers(1, 4), st.floats(0, 8))
def test_dynamic_weights_match_formula(seed: int, update_interval: int, alpha: float) -> None:
    weighting = DynamicWeighting(update_interval, alpha)
    samples = [outcomes(seed + step) for step in range(update_interval)]
    for predicted, actual in samples:
        assert weighting.weights(4).tolist() == pytest.approx([1.25] * 4)
        weighting.update(predicted, actual)
    predicted, actual = (torch.cat(labels) for labels in zip(*samples, strict=True))
    f1 = [f1_score(predicted[:, j].tolist(), actual[:, j].tolist()) for j in range(4)]
    assert weighting.f1.tolist() == pytest.approx(f1)
    assert weighting.weights(4).tolist() == pytest.approx(sdw(f1, alpha), rel=1e-5)


def test_dynamic_weights_use_outcomes_of_last_interval() -> None:
    long, short = DynamicWeighting(update_interval=2), DynamicWeighting(update_interval=2)
    for seed in range(4):
        long.update(*outcomes(seed))
    for seed in (2, 3):
        short.update(*outcomes(seed))
    assert torch.equal(long.weights(4), short.weights(4))


def test_dynamic_weights_exclude_criterion_without_positives() -> None:
    weighting = DynamicWeighting(update_interval=1, alpha=4)
    predicted = torch.tensor([[True, True, False], [True, False, False]])
    actual = torch.tensor([[True, False, False], [True, True, False]])
    weighting.update(predicted, actual)  # F1 is 1, 0 and undefined
    shares = [math.exp(4 * delta) for delta in (-0.5, 0.5, 0.0)]
    assert weighting.weights(3).tolist() == pytest.approx([1 + share / sum(shares) for share in shares])
    assert set(weighting.logs()) == {"weight/0", "weight/1", "weight/2", "f1/0", "f1/1"}


def test_dynamic_weighting_resumes_from_checkpoint(tmp_path: Path) -> None:
    trained = MarginRewardEnforcement(weighting=DynamicWeighting(update_interval=3))
    for seed in range(5):  # ends within an interval
        trained(make_reward_batch(seed=seed))
    torch.save(trained.state_dict(), tmp_path / "state.pt")
    resumed = MarginRewardEnforcement(weighting=DynamicWeighting(update_interval=3))
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for seed in range(5, 9):
        batch = make_reward_batch(seed=seed)
        assert torch.equal(resumed(batch).loss, trained(batch).loss)
    assert isinstance(trained.weighting, DynamicWeighting)
    assert len(set(trained.weighting.f1.tolist())) > 1


def test_dynamic_weights_highest_for_worst_ordered_criterion() -> None:
    objective = MarginRewardEnforcement(weighting=DynamicWeighting(update_interval=1))
    batch = make_reward_batch(num_groups=8, seed=1)
    rewards = batch.targets.clone()
    rewards[:, 2] *= -1
    output = objective(batch._replace(rewards=rewards))
    assert "weight/2" not in output.logs, "the weights of a step come from steps before it"
    weights = objective.weighting.weights(6)
    assert weights.argmax() == 2
    terms = objective.eval()(batch._replace(rewards=rewards)).logs
    assert terms["weight/2"] == weights[2]
    assert terms["f1/2"] == 0


def count_on_rank(rank: int, folder: Path) -> None:
    """Update dynamic weights on one of two ranks and save their state; the target of a process."""
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    weighting = DynamicWeighting(update_interval=2)
    for step in range(3):
        weighting.update(*outcomes(2 * step + rank))
    torch.save(weighting.state_dict(), folder / f"{rank}.pt")
    distributed.destroy_process_group()


def test_dynamic_counts_summed_over_ranks(processes: ForkServerContext, tmp_path: Path) -> None:
    ranks = [processes.Process(target=count_on_rank, args=(rank, tmp_path)) for rank in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    assert [process.exitcode for process in ranks] == [0, 0]
    expected_weighting = DynamicWeighting(update_interval=2)
    for step in range(3):
        samples = [outcomes(2 * step + rank) for rank in range(2)]
        expected_weighting.update(*(torch.cat(labels) for labels in zip(*samples, strict=True)))
    for rank in range(2):
        state = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        torch.testing.assert_close(state, expected_weighting.state_dict(), rtol=0, atol=0)


def test_uniform_and_fixed_weighted_means() -> None:
    values = torch.tensor([[1.0, 2.0, 6.0]])
    assert UniformWeighting()(values).item() == 3
    assert FixedWeighting([2, 1, 1])(values).item() == 2.5
    assert FixedWeighting([20, 10, 10])(values).item() == 2.5


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DynamicWeighting(update_interval=0), "Expected `update_interval` to be >= 1 but got 0"),
        (lambda: DynamicWeighting(alpha=-1), "Expected `alpha` to be finite and >= 0 but got -1"),
        (lambda: DynamicWeighting(alpha=math.inf), "Expected `alpha`"),
        (lambda: FixedWeighting([]), "Expected `weights` to be finite, >= 0 and not all 0"),
        (lambda: FixedWeighting([0.0, 0.0]), "Expected `weights`"),
        (lambda: FixedWeighting([1.0, -1.0]), "Expected `weights`"),
        (lambda: FixedWeighting([1.0, math.nan]), "Expected `weights`"),
    ],
)
def test_invalid_settings_raise_value_error(build: Callable[[], CriterionWeighting], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_wrong_number_of_criteria_raises_input_error() -> None:
    with pytest.raises(InputError, match="Expected `weights` to have 6 values"):
        FixedWeighting([1.0, 2.0])(torch.zeros(3, 6))
    weighting = DynamicWeighting(update_interval=1)
    weighting.update(*outcomes(0))
    with pytest.raises(InputError, match="outcomes of 6 criteria but the weighting has 4"):
        weighting.weights(6)
    with pytest.raises(InputError, match="outcomes of 4 criteria but got 2"):
        weighting.update(*outcomes(0, criteria=2))


def test_invalid_outcomes_raise_value_error() -> None:
    positives = torch.ones(3, 2, dtype=torch.bool)
    with pytest.raises(ValueError, match="Expected outcomes to be bool"):
        UniformWeighting().update(positives.float(), positives)
    with pytest.raises(ValueError, match=r"Expected outcomes to be \(n, N\) both"):
        UniformWeighting().update(positives, positives[:2])
