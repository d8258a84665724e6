"""Conformance suites for objectives and weightings: each test passes correct classes and fails a faulty one."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from radreward.objectives import CriterionWeighting, Objective, PairObjective
from radreward.testing import (
    AdvantageScalingConformance,
    ObjectiveConformance,
    RewardFunctionConformance,
    RolloutObjectiveConformance,
    ScorerConformance,
    WeightingConformance,
    make_reward_batch,
)
from radreward.types import ObjectiveOutput, RewardBatch


class UserLoss(PairObjective):
    """A user-defined loss."""

    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        return self.weighting((accepted - rejected - margin) ** 2)


class TestUserLoss(ObjectiveConformance):
    objective = staticmethod(lambda: UserLoss())


@pytest.mark.parametrize(
    ("suite", "missing"),
    [
        (ObjectiveConformance, "objective"),
        (WeightingConformance, "weighting"),
        (RolloutObjectiveConformance, "objective"),
        (RewardFunctionConformance, "reward"),
        (AdvantageScalingConformance, "scaling"),
        (ScorerConformance, "scorer"),
    ],
)
def test_suite_without_its_object_raises(suite: type, missing: str) -> None:
    with pytest.raises(
        TypeError, match=f"^TestForgotten: Expected the attribute `{missing}`, .*{suite.__name__} tests"
    ):
        type("TestForgotten", (suite,), {"loss": UserLoss})


def test_suite_may_have_a_base_without_the_object() -> None:
    shared = type("Shared", (ObjectiveConformance,), {"num_criteria": 2})
    type("TestShared", (shared,), {"objective": UserLoss})().test_dtypes()


class UserWeighting(CriterionWeighting):
    def weights(self, num_criteria: int) -> Tensor:
        return 1 / torch.arange(1.0, num_criteria + 1)


class TestUserWeighting(WeightingConformance):
    weighting = staticmethod(lambda: UserWeighting())


def test_make_reward_batch_pairs_by_total() -> None:
    batch = make_reward_batch(num_groups=3, num_candidates=4, num_criteria=2, seed=5)
    total = batch.targets.sum(1).tolist()
    group = batch.group.tolist()
    expected = {(i, j) for i in range(12) for j in range(12) if group[i] == group[j] and total[i] > total[j]}
    assert {tuple(pair) for pair in batch.pairs.tolist()} == expected
    assert torch.equal(make_reward_batch(seed=5).rewards, make_reward_batch(seed=5).rewards)
    assert not torch.equal(make_reward_batch(seed=5).rewards, make_reward_batch(seed=6).rewards)


# --- Objectives with one fault each -------------------------------------------------------------------------------


class Broken(Objective):
    """A correct loss; subclasses introduce one fault each."""

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        return ObjectiveOutput(self.reduce(self.losses(batch)), {})

    def losses(self, batch: RewardBatch) -> Tensor:
        return self.squares(batch).mean(-1)

    def squares(self, batch: RewardBatch) -> Tensor:
        accepted, rejected = batch.pairs.unbind(1)
        difference = batch.rewards[accepted] - batch.rewards[rejected]
        return (difference - (batch.targets[accepted] - batch.targets[rejected]).to(difference)) ** 2


class TestCorrect(ObjectiveConformance):
    objective = staticmethod(lambda: Broken())


class InfiniteLoss(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        return super().losses(batch) / 0


class AttachedLog(Broken):
    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        output = super().forward(batch)
        return output._replace(logs={"attached": output.loss})


class LogPerCriterion(Broken):
    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        return super().forward(batch)._replace(logs={"individual": self.squares(batch).detach().mean(0)})


class ReservedLog(Broken):
    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        output = super().forward(batch)
        return output._replace(logs={"loss": output.loss.detach()})


class NaiveSigmoid(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        accepted, rejected = batch.pairs.unbind(1)
        return -(batch.rewards[accepted] - batch.rewards[rejected]).sum(-1).sigmoid().log()


class Constant(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        return super().losses(batch) * 0 + 1


class Detached(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        return super().losses(batch).detach()


class ByCandidateIndex(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        return super().losses(batch) * (batch.pairs[:, 0] + 1)


class ByPairIndex(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        return super().losses(batch) * torch.arange(len(batch.pairs))


class ByGroupIndex(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        return super().losses(batch) * (batch.group[batch.pairs[:, 0]] + 1)


class AlwaysFloat(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        return super().losses(batch).float()


class MeanOfEmpty(Broken):
    def reduce(self, losses: Tensor, count: int | Tensor | None = None) -> Tensor:
        return losses.mean(0)


class NonzeroIfEmpty(Broken):
    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        output = super().forward(batch)
        return output if len(batch.rewards) else output._replace(loss=output.loss + 1)


class InPlace(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        batch.targets.mul_(2)
        return super().losses(batch)


class Counting(Broken):
    """State that grows with every call and is not a buffer."""

    calls = 0

    def losses(self, batch: RewardBatch) -> Tensor:
        self.calls += 1
        return super().losses(batch) * self.calls


class WrongSign(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        losses = super().losses(batch)
        return 2 * losses.detach() - losses


class Reversed(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        return super().losses(batch._replace(targets=-batch.targets))


class UndeclaredPart(Broken):
    """Uses a part that is missing in training, because `needs` does not name it."""

    def losses(self, batch: RewardBatch) -> Tensor:
        assert batch.finding_weights is not None
        return super().losses(batch) + batch.finding_weights.predicted.sum()


class OptionallyUsedPart(Broken):
    def losses(self, batch: RewardBatch) -> Tensor:
        losses = super().losses(batch)
        return losses if batch.finding_weights is None else losses + batch.finding_weights.predicted.sum()


class UnknownPart(Broken):
    needs = frozenset({"findings_weight"})


BROKEN: list[tuple[type[Broken], str]] = [
    (InfiniteLoss, "test_loss_is_a_finite_scalar"),
    (AttachedLog, "test_loss_is_a_finite_scalar"),
    (LogPerCriterion, "test_loss_is_a_finite_scalar"),
    (ReservedLog, "test_loss_is_a_finite_scalar"),
    (UndeclaredPart, "test_needs_names_the_used_parts"),
    (OptionallyUsedPart, "test_needs_names_the_used_parts"),
    (UnknownPart, "test_needs_names_the_used_parts"),
    (NaiveSigmoid, "test_large_outputs_stay_finite"),
    (Constant, "test_gradients_finite_and_nonzero"),
    (Detached, "test_gradients_finite_and_nonzero"),
    (ByCandidateIndex, "test_candidate_order_irrelevant"),
    (ByPairIndex, "test_pair_order_irrelevant"),
    (ByGroupIndex, "test_group_indices_irrelevant"),
    (AlwaysFloat, "test_dtypes"),
    (MeanOfEmpty, "test_no_pairs_give_finite_loss"),
    (NonzeroIfEmpty, "test_empty_batch_gives_zero_loss"),
    (InPlace, "test_inputs_not_modified"),
    (Counting, "test_state_dict_round_trip"),
    (Counting, "test_evaluation_keeps_state"),
    (WrongSign, "test_gradient_step_lowers_loss"),
    (Reversed, "test_training_improves_order"),
]


@pytest.mark.parametrize(("fault", "check"), BROKEN, ids=lambda value: getattr(value, "__name__", value))
def test_faulty_objective_fails_its_check(fault: type[Broken], check: str) -> None:
    suite = type("Suite", (ObjectiveConformance,), {"objective": staticmethod(lambda: fault())})()
    with pytest.raises(AssertionError):
        getattr(suite, check)()


# --- Weightings with one fault each -------------------------------------------------------------------------------


class Negative(CriterionWeighting):
    def weights(self, num_criteria: int) -> Tensor:
        return -torch.ones(num_criteria)


class Learned(CriterionWeighting):
    def weights(self, num_criteria: int) -> Tensor:
        return torch.ones(num_criteria, requires_grad=True)


class ChangesScale(UserWeighting):
    def forward(self, values: Tensor) -> Tensor:
        return (values * self.weights(values.shape[-1]).to(values)).sum(-1)


class PlainMean(UserWeighting):
    def forward(self, values: Tensor) -> Tensor:
        return values.mean(-1)


class MeanOfNoOutcomes(UserWeighting):
    share: Tensor | None = None

    def weights(self, num_criteria: int) -> Tensor:
        return torch.ones(num_criteria) if self.share is None else self.share

    def update(self, predicted: Tensor, actual: Tensor) -> None:
        self.share = (predicted == actual).float().mean(0)


BROKEN_WEIGHTINGS: list[tuple[Callable[[], CriterionWeighting], str]] = [
    (Negative, "test_weights_finite_and_nonnegative"),
    (Learned, "test_weights_detached"),
    (ChangesScale, "test_mean_of_constant"),
    (PlainMean, "test_mean_matches_weights"),
    (MeanOfNoOutcomes, "test_update_without_outcomes"),
    (MeanOfNoOutcomes, "test_state_dict_round_trip"),
]


@pytest.mark.parametrize(("fault", "check"), BROKEN_WEIGHTINGS, ids=lambda value: getattr(value, "__name__", value))
def test_faulty_weighting_fails_its_check(fault: Callable[[], CriterionWeighting], check: str) -> None:
    suite = type("Suite", (WeightingConformance,), {"weighting": staticmethod(fault)})()
    with pytest.raises(AssertionError):
        getattr(suite, check)()


@pytest.mark.parametrize(
    ("suite", "faults"),
    [
        (ObjectiveConformance, {check for _, check in BROKEN}),
        (WeightingConformance, {check for _, check in BROKEN_WEIGHTINGS}),
    ],
)
def test_every_check_has_a_faulty_class(suite: type, faults: set[str]) -> None:
    checks = {name for name, _ in inspect.getmembers(suite, inspect.isfunction) if name.startswith("test_")}
    assert checks == faults
