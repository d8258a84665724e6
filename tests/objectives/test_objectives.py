"""Tests of reward objectives: values against loops, gradients, and validation of settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from radreward.errors import InputError
from radreward.objectives import (
    BradleyTerry,
    CountRegression,
    CriterionWeighting,
    FindingRegression,
    FixedWeighting,
    LocatedErrors,
    MarginRewardEnforcement,
    Objective,
    PairObjective,
    PlackettLuce,
    QualityOrder,
    SumObjective,
)
from radreward.objectives.functional import ranking_losses
from radreward.testing import make_reward_batch
from radreward.types import ObjectiveOutput, RewardBatch

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
        m = (batch.targets[accepted] - batch.targets[rejected]).tolist()
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
    assert output.loss.item() == pytest.approx(sum(expected))
    objective.reduction = "mean"
    assert objective(batch).loss.item() == pytest.approx(sum(expected) / len(expected))
    by_criterion = {"individual", *(f"individual/{j}" for j in range(6))}
    assert set(output.logs) == ({"total"} if total else set()) | (by_criterion if individual else set())


def test_margin_logs_terms_that_add_up_to_the_loss(batch: RewardBatch) -> None:
    loss, logs = MarginRewardEnforcement(lambda_=2.0)(batch)
    losses = margin_by_loop(batch, 2.0, 0.01, [1.0] * 6)
    assert (logs["individual"] + logs["total"]).item() == pytest.approx(loss.item())
    assert logs["individual"].item() == pytest.approx(sum(i for i, _ in losses) / len(losses))
    assert logs["total"].item() == pytest.approx(sum(t for _, t in losses) / len(losses))
    assert sum(logs[f"individual/{j}"].item() for j in range(6)) / 6 == pytest.approx(logs["individual"].item())


def test_margin_invariant_to_offset_per_criterion(batch: RewardBatch) -> None:
    objective = MarginRewardEnforcement()
    shifted = batch._replace(rewards=batch.rewards + torch.arange(6.0, dtype=DOUBLE))
    torch.testing.assert_close(objective(shifted).loss, objective(batch).loss)


def test_margin_zero_for_rewards_equal_to_targets(batch: RewardBatch) -> None:
    assert MarginRewardEnforcement()(batch._replace(rewards=batch.targets)).loss == 0


@pytest.mark.parametrize("margin", [False, True])
def test_bradley_terry_matches_loop(batch: RewardBatch, margin: bool) -> None:
    expected = []
    for accepted, rejected in batch.pairs.tolist():
        d = (batch.rewards[accepted] - batch.rewards[rejected]).tolist()
        m = (batch.targets[accepted] - batch.targets[rejected]).tolist()
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
    assert objective(batch).loss.item() == pytest.approx(sum(expected) / len(expected))


def test_plackett_luce_matches_loop(batch: RewardBatch) -> None:
    def ranking(scores: list[float], targets: list[float]) -> float:
        pairs = list(zip(scores, targets, strict=True))
        return sum(math.log(sum(math.exp(r) for r, level in pairs if level <= q)) - s for s, q in pairs)

    expected = []
    for number in range(3):
        rewards, targets = batch.rewards[batch.group == number], batch.targets[batch.group == number]
        individual = [ranking(rewards[:, j].tolist(), targets[:, j].tolist()) for j in range(6)]
        total = ranking(rewards.sum(1).tolist(), targets.sum(1).tolist())
        expected.append(weighted(individual, WEIGHTS) + 0.7 * total)
    objective = PlackettLuce(0.7, weighting=FixedWeighting(WEIGHTS))
    assert objective(batch).loss.item() == pytest.approx(sum(expected) / 3)


@pytest.mark.parametrize("loss", ["huber", "poisson"])
def test_count_regression_matches_loop(batch: RewardBatch, loss: str) -> None:
    unit = [1.0, 1.0, 0.25, 0.25, 30.0, 5.0]
    expected = []
    for reward, target in zip(batch.rewards.tolist(), batch.targets.tolist(), strict=True):
        individual = []
        for r, q, u in zip(reward, target, unit, strict=True):
            predicted, errors = -r / u, -q / u
            deviation = abs(predicted - errors)
            if loss == "huber":
                individual.append(deviation**2 / 2 if deviation <= 0.5 else 0.5 * (deviation - 0.25))
            else:
                rate = math.log1p(math.exp(predicted))
                individual.append(rate - errors * math.log(rate))
        expected.append(weighted(individual, WEIGHTS))
    objective = CountRegression("huber" if loss == "huber" else "poisson", 0.5, FixedWeighting(WEIGHTS))
    actual = objective(batch._replace(weights=torch.tensor(unit))).loss.item()
    assert actual == pytest.approx(sum(expected) / len(expected))


def test_count_regression_logs_deviation_in_errors() -> None:
    batch = RewardBatch(
        torch.tensor([[0.0, -10.0]]), torch.tensor([[-0.5, -30.0]]), torch.tensor([0]), torch.zeros(0, 2).long()
    )
    terms = CountRegression()(batch._replace(weights=torch.tensor([0.25, 10.0]))).logs
    assert [terms[name].item() for name in ("deviation/0", "deviation/1", "deviation")] == [2, 2, 2]


def test_count_regression_pulls_reward_of_zero_weight_to_zero() -> None:
    batch = RewardBatch(torch.tensor([[3.0]]), torch.tensor([[0.0]]), torch.tensor([0]), torch.zeros(0, 2).long())
    assert CountRegression()(batch._replace(weights=torch.zeros(1))).loss == 2.5


def test_sum_adds_weighted_losses_and_logs_each_contribution(batch: RewardBatch) -> None:
    parts: list[Objective] = [MarginRewardEnforcement(), PlackettLuce(reduction="sum"), MarginRewardEnforcement(3.0)]
    expected = [weight * part(batch).loss.item() for weight, part in zip([1.0, 0.5, 2.0], parts, strict=True)]
    loss, logs = SumObjective(parts, [1.0, 0.5, 2.0])(batch)
    assert loss.item() == pytest.approx(sum(expected))
    names = ["MarginRewardEnforcement", "PlackettLuce", "MarginRewardEnforcement_2"]
    assert [logs[f"{name}/loss"].item() for name in names] == pytest.approx(expected)
    assert {name for name in logs if name.endswith("/loss")} == {f"{name}/loss" for name in names}
    assert "MarginRewardEnforcement_2/individual/5" in logs
    assert SumObjective(parts)(batch).loss.item() == pytest.approx(sum(part(batch).loss.item() for part in parts))


def test_sum_of_a_sum_needs_and_logs_what_its_parts_do(batch: RewardBatch) -> None:
    objective = SumObjective([SumObjective([BradleyTerry(), FindingRegression()]), LocatedErrors()])
    assert objective.needs == {"finding_weights", "located_errors"}
    assert SumObjective([BradleyTerry()]).needs == frozenset()
    logs = SumObjective([SumObjective([BradleyTerry()], [2.0])], [3.0])(batch).logs
    single = BradleyTerry()(batch).loss.item()
    assert logs["SumObjective/BradleyTerry/loss"].item() == pytest.approx(2 * single)
    assert logs["SumObjective/loss"].item() == pytest.approx(6 * single)


@pytest.mark.parametrize("objective", [FindingRegression(), QualityOrder(), LocatedErrors()], ids=lambda o: str(o)[:9])
def test_objective_without_the_part_that_it_needs_raises(objective: Objective, batch: RewardBatch) -> None:
    (part,) = objective.needs
    name = type(objective).__name__
    with pytest.raises(InputError, match=f"^{name}: Expected a batch with `{part}` but it has none"):
        objective(batch._replace(finding_weights=None, located_errors=None))


class Unreduced(Objective):
    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        return ObjectiveOutput(batch.rewards.sum(1), {})


class BareLoss(Objective):
    def forward(self, batch: RewardBatch) -> Any:
        return batch.rewards.sum()


class OneLossForAllPairs(PairObjective):
    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        return (accepted - rejected).sum()


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (Unreduced(), r"^Unreduced: Expected a loss of shape \(\) but got \(12,\)\. Average it with `self\.reduce`"),
        (BareLoss(), r"^BareLoss: Expected `forward` to return an ObjectiveOutput but got Tensor"),
        (OneLossForAllPairs(), r"^OneLossForAllPairs: Expected `pair_loss` to return \(\d+,\) losses but got \(\)"),
        (SumObjective([Unreduced()]), r"^Unreduced: Expected a loss of shape"),
    ],
)
def test_objective_of_wrong_form_raises_with_its_name(objective: Objective, message: str, batch: RewardBatch) -> None:
    with pytest.raises(InputError, match=message):
        objective(batch)


class Undeclared(Objective):
    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        return ObjectiveOutput(self.reduce(cast("Any", batch.finding_weights).predicted.sum(1)), {})


class UndeclaredInHelper(Objective):
    needs = frozenset({"finding_weights"})

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        return ObjectiveOutput(self.reduce(_evidence(batch.located_errors)), {})


def _evidence(located: Any) -> Tensor:
    return located[0].sum((1, 2))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("objective", "needs"),
    [
        (Undeclared(), '"finding_weights"'),
        (SumObjective([Undeclared()]), '"finding_weights"'),
        (UndeclaredInHelper(), '"finding_weights", "located_errors"'),
    ],
)
def test_part_that_needs_does_not_name_is_named_in_one_line(
    objective: Objective, needs: str, batch: RewardBatch
) -> None:
    with pytest.raises(InputError, match=r"^Undeclared\w*: Expected `needs` to name ") as error:
        objective(batch._replace(finding_weights=None, located_errors=None))
    assert f"Add `needs = frozenset({{{needs}}})` to the class." in str(error.value)


class OtherNone(Objective):
    scale: Any = None

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        return ObjectiveOutput(self.reduce(batch.rewards.sum(1) * self.scale), {})


def test_other_python_errors_of_an_objective_are_unchanged(batch: RewardBatch) -> None:
    with pytest.raises(TypeError, match="NoneType"):
        OtherNone()(batch._replace(finding_weights=None, located_errors=None))
    with pytest.raises(AttributeError, match="Tensor"):
        Undeclared()(batch._replace(finding_weights=cast("Any", torch.zeros(()))))


def test_pair_loss_margin_computed_in_float32() -> None:
    margins: list[Tensor] = []

    class RecordingObjective(PairObjective):
        def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
            margins.append(margin)
            return (accepted - rejected).sum(-1)

    targets = torch.tensor([[-100.25], [-100.5]])
    RecordingObjective()(
        RewardBatch(torch.zeros(2, 1).bfloat16(), targets, torch.tensor([0, 0]), torch.tensor([[0, 1]]))
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
        SumObjective([BradleyTerry(), PlackettLuce()], [2.0, 0.5]),
    ],
    ids=lambda objective: type(objective).__name__,
)
def test_gradients_match_finite_differences(objective: Objective) -> None:
    batch = make_reward_batch(num_groups=2, num_candidates=3, num_criteria=3, seed=2, dtype=DOUBLE)
    assert torch.autograd.gradcheck(lambda rewards: objective(batch._replace(rewards=rewards)).loss, batch.rewards)


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
        lambda weighting: SumObjective([CountRegression(), BradleyTerry(weighting=weighting)]),
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
    expected = ranking_losses.pairwise_order_labels(
        batch.rewards[accepted] - batch.rewards[rejected], batch.targets[accepted] - batch.targets[rejected]
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
        (lambda: SumObjective([]), "at least one objective"),
        (lambda: SumObjective([BradleyTerry()], [1.0, 2.0]), "Expected `weights` to be 1 finite numbers"),
    ],
)
def test_invalid_settings_raise_value_error(build: Callable[[], Objective], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(".", r"\.")):
        build()
