"""Tests of reward objectives: values against loops, gradients, and validation of settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from radreward.objectives import (
    BradleyTerry,
    CountRegression,
    CriterionWeighting,
    FixedWeighting,
    MarginRewardEnforcement,
    Objective,
    PairObjective,
    PlackettLuce,
    WeightedSumObjective,
)
from radreward.objectives.functional import ranking_losses as functional
from radreward.testing import make_reward_batch
from radreward.types import RewardBatch

DOUBLE = torch.float64
WEIGHTS = [1.0, 2.0, 0.5, 4.0, 1.0, 0.0]


@pytest.fixture
def batch() -> RewardBatch:
    return make_reward_batch(seed=11, dtype=DOUBLE)


def weighted(values: list[float], weights: list[float]) -> float:
    return sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)


def margin_by_loop(batch: RewardBatch, lambda_: float, c: float, weights: list[float]) -> list[tuple[float, float]]:
    """Return L_ind and λ·L_tot of every pair by Eq. 1."""
    losses = []
    for accepted, rejected in batch.pairs.tolist():
        d = (batch.rewards[accepted] - batch.rewards[rejected]).tolist()
        m = (batch.quality[accepted] - batch.quality[rejected]).tolist()
        individual = []
        for dj, mj in zip(d, m, strict=True):
            t = (mj > 0) - (mj < 0)
            individual.append(max(0.0, -t * dj + t * mj) if t else max(0.0, abs(dj) - c))
        losses.append((weighted(individual, weights), lambda_ * max(0.0, sum(m) - sum(d))))
    return losses


@pytest.mark.parametrize("lambda_", [0.5, 0.8, 1, 1.2, 2, 3])
@pytest.mark.parametrize(("individual", "total"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("weights", [[1.0] * 6, WEIGHTS])
def test_margin_loss_matches_equation_1(
    batch: RewardBatch, lambda_: float, individual: bool, total: bool, weights: list[float]
) -> None:
    objective = MarginRewardEnforcement(lambda_, 0.3, individual, total, FixedWeighting(weights), reduction="sum")
    expected = [i * individual + t * total for i, t in margin_by_loop(batch, lambda_, 0.3, weights)]
    output = objective(batch)
    assert output.losses.tolist() == pytest.approx(expected)
    assert objective.reduce(output).item() == pytest.approx(sum(expected))
    objective.reduction = "mean"
    assert objective.reduce(output).item() == pytest.approx(sum(expected) / len(expected))
    by_criterion = {"individual", *(f"individual/{j}" for j in range(6))}
    assert set(output.logs) == ({"total"} if total else set()) | (by_criterion if individual else set())


def test_margin_logs_each_term(batch: RewardBatch) -> None:
    logs = MarginRewardEnforcement(lambda_=2.0)(batch).logs
    losses = margin_by_loop(batch, 1.0, 0.01, [1.0] * 6)
    assert logs["individual"].item() == pytest.approx(sum(i for i, _ in losses) / len(losses))
    assert logs["total"].item() == pytest.approx(sum(t for _, t in losses) / len(losses))
    assert sum(logs[f"individual/{j}"].item() for j in range(6)) / 6 == pytest.approx(logs["individual"].item())


def test_margin_invariant_to_offset_per_criterion(batch: RewardBatch) -> None:
    objective = MarginRewardEnforcement()
    shifted = batch._replace(rewards=batch.rewards + torch.arange(6.0, dtype=DOUBLE))
    torch.testing.assert_close(objective(shifted).losses, objective(batch).losses)


def test_margin_zero_for_rewards_equal_to_quality(batch: RewardBatch) -> None:
    assert MarginRewardEnforcement()(batch._replace(rewards=batch.quality)).losses.abs().max() == 0


@pytest.mark.parametrize("margin", [False, True])
def test_bradley_terry_matches_loop(batch: RewardBatch, margin: bool) -> None:
    expected = []
    for accepted, rejected in batch.pairs.tolist():
        d = (batch.rewards[accepted] - batch.rewards[rejected]).tolist()
        m = (batch.quality[accepted] - batch.quality[rejected]).tolist()
        individual = []
        for dj, mj in zip(d, m, strict=True):
            lead = abs(mj) if margin else 0.0
            if mj:
                individual.append(math.log1p(math.exp(lead - math.copysign(1, mj) * dj)))
            else:
                individual.append((math.log1p(math.exp(-dj)) + math.log1p(math.exp(dj))) / 2)
        total = math.log1p(math.exp((sum(m) if margin else 0.0) - sum(d)))
        expected.append(weighted(individual, WEIGHTS) + 0.7 * total)
    objective = BradleyTerry(margin, lambda_=0.7, weighting=FixedWeighting(WEIGHTS))
    assert objective(batch).losses.tolist() == pytest.approx(expected)


def test_bradley_terry_on_totals_matches_logsigmoid(batch: RewardBatch) -> None:
    total = batch.rewards.sum(1)
    expected = -torch.nn.functional.logsigmoid(total[batch.pairs[:, 0]] - total[batch.pairs[:, 1]])
    torch.testing.assert_close(BradleyTerry(use_criteria=False)(batch).losses, expected)


def test_plackett_luce_matches_loop(batch: RewardBatch) -> None:
    def ranking(scores: list[float], quality: list[float]) -> float:
        pairs = list(zip(scores, quality, strict=True))
        return sum(math.log(sum(math.exp(r) for r, level in pairs if level <= q)) - s for s, q in pairs)

    expected = []
    for number in range(3):
        rewards, quality = batch.rewards[batch.group == number], batch.quality[batch.group == number]
        individual = [ranking(rewards[:, j].tolist(), quality[:, j].tolist()) for j in range(6)]
        total = ranking(rewards.sum(1).tolist(), quality.sum(1).tolist())
        expected.append(weighted(individual, WEIGHTS) + 0.7 * total)
    assert PlackettLuce(0.7, weighting=FixedWeighting(WEIGHTS))(batch).losses.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["huber", "poisson"])
def test_count_regression_matches_loop(batch: RewardBatch, loss: str) -> None:
    unit = [1.0, 1.0, 0.25, 0.25, 30.0, 5.0]
    expected = []
    for reward, quality in zip(batch.rewards.tolist(), batch.quality.tolist(), strict=True):
        individual = []
        for r, q, u in zip(reward, quality, unit, strict=True):
            predicted, errors = -r / u, -q / u
            deviation = abs(predicted - errors)
            if loss == "huber":
                individual.append(deviation**2 / 2 if deviation <= 0.5 else 0.5 * (deviation - 0.25))
            else:
                rate = math.log1p(math.exp(predicted))
                individual.append(rate - errors * math.log(rate))
        expected.append(weighted(individual, WEIGHTS))
    objective = CountRegression("huber" if loss == "huber" else "poisson", 0.5, FixedWeighting(WEIGHTS))
    assert objective(batch._replace(error_weights=torch.tensor(unit))).losses.tolist() == pytest.approx(expected)


def test_count_regression_logs_deviation_in_errors() -> None:
    batch = RewardBatch(
        torch.tensor([[0.0, -10.0]]), torch.tensor([[-0.5, -30.0]]), torch.tensor([0]), torch.zeros(0, 2).long()
    )
    terms = CountRegression()(batch._replace(error_weights=torch.tensor([0.25, 10.0]))).logs
    assert [terms[name].item() for name in ("deviation/0", "deviation/1", "deviation")] == [2, 2, 2]


def test_count_regression_pulls_reward_of_zero_weight_to_zero() -> None:
    batch = RewardBatch(torch.tensor([[3.0]]), torch.tensor([[0.0]]), torch.tensor([0]), torch.zeros(0, 2).long())
    assert CountRegression()(batch._replace(error_weights=torch.zeros(1))).losses.tolist() == [2.5]


def test_weighted_sum_adds_reduced_losses(batch: RewardBatch) -> None:
    parts: list[Objective] = [MarginRewardEnforcement(), PlackettLuce(reduction="sum"), CountRegression()]
    objective = WeightedSumObjective(parts, [1.0, 0.5, 2.0])
    output = objective(batch)
    reduced = [part.reduce(part(batch)) for part in parts]
    torch.testing.assert_close(objective.reduce(output), reduced[0] + 0.5 * reduced[1] + 2 * reduced[2])
    assert len(output.losses) == len(batch.pairs) + 3 + 12
    assert output.logs["1_PlackettLuce/loss"].item() == pytest.approx(reduced[1].item())
    assert "0_MarginRewardEnforcement/individual/5" in output.logs


def test_pair_loss_margin_computed_in_float32() -> None:
    margins: list[Tensor] = []

    class RecordingObjective(PairObjective):
        def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
            margins.append(margin)
            return (accepted - rejected).sum(-1)

    quality = torch.tensor([[-100.25], [-100.5]])
    RecordingObjective()(
        RewardBatch(torch.zeros(2, 1).bfloat16(), quality, torch.tensor([0, 0]), torch.tensor([[0, 1]]))
    )
    assert margins[0].dtype == torch.bfloat16
    assert margins[0].item() == 0.25


@pytest.mark.parametrize(
    "objective",
    [
        MarginRewardEnforcement(),
        BradleyTerry(use_margin=True),
        PlackettLuce(),
        CountRegression(),
        CountRegression("poisson"),
        WeightedSumObjective([BradleyTerry(), PlackettLuce()], [2.0, 0.5]),
    ],
    ids=lambda objective: type(objective).__name__,
)
def test_gradients_match_finite_differences(objective: Objective) -> None:
    batch = make_reward_batch(num_groups=2, num_candidates=3, num_criteria=3, seed=2, dtype=DOUBLE)
    assert torch.autograd.gradcheck(lambda rewards: objective(batch._replace(rewards=rewards)).losses, batch.rewards)


class RecordingWeighting(CriterionWeighting):
    """A weighting that records the outcomes of each update."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[tuple[Tensor, Tensor]] = []

    def weights(self, num_criteria: int) -> Tensor:
        return torch.ones(num_criteria)

    def update(self, predicted: Tensor, actual: Tensor) -> None:
        super().update(predicted, actual)
        self.outcomes.append((predicted, actual))


@pytest.mark.parametrize(
    "build",
    [
        lambda weighting: MarginRewardEnforcement(weighting=weighting),
        lambda weighting: BradleyTerry(weighting=weighting),
        lambda weighting: PlackettLuce(weighting=weighting),
        lambda weighting: CountRegression(weighting=weighting),
        lambda weighting: WeightedSumObjective([CountRegression(), BradleyTerry(weighting=weighting)]),
    ],
)
def test_weighting_updated_in_training_only(
    batch: RewardBatch, build: Callable[[CriterionWeighting], Objective]
) -> None:
    recorder = RecordingWeighting()
    objective = build(recorder)
    objective.eval()(batch)
    assert recorder.outcomes == []
    objective.train()(batch)
    ((predicted, actual),) = recorder.outcomes
    accepted, rejected = batch.pairs.unbind(1)
    expected = functional.pairwise_order_labels(
        batch.rewards[accepted] - batch.rewards[rejected], batch.quality[accepted] - batch.quality[rejected]
    )
    assert torch.equal(predicted, expected[0])
    assert torch.equal(actual, expected[1])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MarginRewardEnforcement(lambda_=-1), "Expected `lambda_` to be finite and >= 0 but got -1."),
        (lambda: MarginRewardEnforcement(c=-0.1), "Expected `c` to be finite and >= 0 but got -0.1."),
        (lambda: MarginRewardEnforcement(c=math.nan), "Expected `c`"),
        (
            lambda: MarginRewardEnforcement(use_criteria=False, use_total=False),
            "at least one of `use_criteria` and `use_total`",
        ),
        (lambda: PlackettLuce(0.0, use_criteria=False), "at least one of `use_criteria` and `use_total`"),
        (lambda: BradleyTerry(reduction=cast("Any", "none")), "Expected `reduction` to be mean or sum but got 'none'."),
        (lambda: CountRegression(cast("Any", "mse")), "Expected `loss` to be huber or poisson but got 'mse'."),
        (lambda: CountRegression(delta=0), "Expected `delta` to be finite and > 0"),
        (lambda: WeightedSumObjective([]), "at least one objective"),
        (lambda: WeightedSumObjective([BradleyTerry()], [1.0, 2.0]), "Expected `weights` to be 1 finite numbers"),
    ],
)
def test_invalid_settings_raise_value_error(build: Callable[[], Objective], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(".", r"\.")):
        build()
