"""Suites for objectives on rewards and for weightings of criteria."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from radreward.data.pairing import make_pairs
from radreward.objectives import CriterionWeighting, Objective
from radreward.testing.checks import require, require_close
from radreward.types import RewardBatch


def make_reward_batch(
    num_groups: int = 3,
    num_candidates: int = 4,
    num_criteria: int = 6,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> RewardBatch:
    """A batch of random rewards and error counts from 0 to 2, with the pairs that the pairing rule makes of it.

    Within a group, of two candidates with different totals the higher one is accepted. Rewards require gradients.

    Args:
        groups: Number of references.
        candidates: Candidates of each.
        criteria: Number of criteria N.
        seed: The same seed gives the same batch.
        dtype: Of rewards and quality.

    >>> batch = make_reward_batch(groups=2, candidates=3, criteria=4)
    >>> batch.rewards.shape, batch.group
    (torch.Size([6, 4]), tensor([0, 0, 0, 1, 1, 1]))
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (num_groups * num_candidates, num_criteria)
    quality = -torch.randint(0, 3, shape, generator=generator).to(dtype)
    group = torch.arange(num_groups).repeat_interleave(num_candidates)
    rewards = torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    return RewardBatch(
        rewards, quality, group, make_pairs(quality.sum(1), group), torch.ones(num_criteria, dtype=dtype)
    )


class ObjectiveConformance(ABC):
    """What any `Objective` has to satisfy; subclass it and give `objective`.

    Every test builds a fresh objective. Two settings are there to be overridden where an objective needs it.
    """

    num_criteria: int = 6
    """How many criteria the batches have."""
    steps: int = 200
    """Steps of gradient descent in which a toy problem has to be learned."""

    @staticmethod
    @abstractmethod
    def objective() -> Objective:
        """A new objective; called by every test."""

    def test_losses_are_finite_and_unreduced(self) -> None:
        """Losses are a finite vector that hangs on the rewards; terms are finite detached scalars."""
        output = self.objective()(self._batch())
        require(output.losses.ndim == 1, f"losses have to be unreduced, (n,), but are {tuple(output.losses.shape)}")
        require(bool(output.losses.isfinite().all()), "losses have to be finite")
        for name, term in output.logs.items():
            require(term.ndim == 0 and not term.requires_grad, f"term {name!r} has to be a detached scalar")
            require(bool(term.isfinite()), f"term {name!r} has to be finite")

    def test_large_rewards_are_finite(self) -> None:
        """Rewards of ±1000 give finite losses and gradients: nothing overflows."""
        batch = self._batch()
        rewards = (1000 * batch.rewards.detach().sign()).requires_grad_()
        loss, gradient = self._loss_and_gradient(batch._replace(rewards=rewards))
        require(bool(loss.isfinite()) and bool(gradient.isfinite().all()), "large rewards have to stay finite")

    def test_gradients_are_finite_and_reach_the_rewards(self) -> None:
        """The gradient is finite and not zero."""
        _, gradient = self._loss_and_gradient(self._batch())
        require(bool(gradient.isfinite().all()), "gradients have to be finite")
        require(bool((gradient != 0).any()), "a gradient has to reach the rewards")

    def test_order_of_candidates_does_not_matter(self) -> None:
        """Candidates in another order give the same loss, and their gradients in that order."""
        batch = self._batch()
        order = torch.randperm(len(batch.group), generator=torch.Generator().manual_seed(1))
        place = order.argsort()
        rewards = batch.rewards.detach()[order].requires_grad_()
        shuffled = RewardBatch(
            rewards, batch.quality[order], batch.group[order], place[batch.pairs], batch.error_weights
        )
        loss, gradient = self._loss_and_gradient(batch)
        other, other_gradient = self._loss_and_gradient(shuffled)
        require_close(other, loss, "the loss depends on the order of the candidates")
        require_close(other_gradient, gradient[order], "gradients depend on the order of the candidates")

    def test_order_of_pairs_does_not_matter(self) -> None:
        """Pairs in another order give the same loss and gradients."""
        batch = self._batch()
        loss, gradient = self._loss_and_gradient(batch)
        other, other_gradient = self._loss_and_gradient(batch._replace(pairs=batch.pairs.flip(0)))
        require_close(other, loss, "the loss depends on the order of the pairs")
        require_close(other_gradient, gradient, "gradients depend on the order of the pairs")

    def test_numbers_of_groups_do_not_matter(self) -> None:
        """Groups with other numbers give the same loss."""
        batch = self._batch()
        loss, _ = self._loss_and_gradient(batch)
        other, _ = self._loss_and_gradient(batch._replace(group=100 - 7 * batch.group))
        require_close(other, loss, "the loss depends on how the groups are numbered")

    def test_dtypes(self) -> None:
        """In float64, float32 and bfloat16 the loss has the dtype of the rewards and, roughly, one value."""
        exact, _ = self._loss_and_gradient(self._batch())
        for dtype, tolerance in ((torch.float64, 1e-6), (torch.float32, 1e-4), (torch.bfloat16, 0.1)):
            batch = self._batch()
            rewards = batch.rewards.detach().to(dtype).requires_grad_()
            # The targets of a batch are float32 whatever the rewards are.
            loss, gradient = self._loss_and_gradient(batch._replace(rewards=rewards, quality=batch.quality.float()))
            require(loss.dtype == dtype, f"rewards in {dtype} have to give a loss in {dtype}, not {loss.dtype}")
            require(bool(gradient.isfinite().all()), f"gradients in {dtype} have to be finite")
            deviation = float((loss.double() - exact).abs()) / max(1.0, abs(float(exact)))
            require(deviation <= tolerance, f"the loss in {dtype} is off by {deviation:.2g}, relative")

    def test_batch_without_pairs(self) -> None:
        """A batch of equal candidates has no pairs: loss and gradients are finite."""
        batch = self._batch()
        rewards = batch.rewards.detach()[:1].requires_grad_()
        alone = RewardBatch(rewards, batch.quality[:1], batch.group[:1], batch.pairs[:0], batch.error_weights)
        loss, gradient = self._loss_and_gradient(alone)
        require(bool(loss.isfinite()) and bool(gradient.isfinite().all()), "no pairs have to give a finite loss")

    def test_empty_batch(self) -> None:
        """Nothing to learn from gives a loss of 0 that still backpropagates zeros."""
        batch = self._batch()
        rewards = batch.rewards.detach()[:0].requires_grad_()
        empty = RewardBatch(rewards, batch.quality[:0], batch.group[:0], batch.pairs[:0], batch.error_weights)
        objective = self.objective()
        output = objective(empty)
        loss = objective.reduce(output)
        require(len(output.losses) == 0, "an empty batch has to give no losses")
        require(float(loss.detach()) == 0, "an empty batch has to give a loss of 0")
        require(loss.requires_grad, "the loss of an empty batch has to hang on the rewards")
        (gradient,) = torch.autograd.grad(loss, rewards)
        require(gradient.shape == rewards.shape, "the loss of an empty batch has to backpropagate zeros")
        require(all(bool(term.isfinite()) for term in output.logs.values()), "terms have to be finite when empty")

    def test_inputs_are_not_changed(self) -> None:
        """The tensors of the batch are the same after forward and backward."""
        batch = self._batch()
        tensors = {name: value for name, value in batch._asdict().items() if value is not None}
        before = {name: value.detach().clone() for name, value in tensors.items()}
        self._loss_and_gradient(batch)
        for name, value in tensors.items():
            require(torch.equal(before[name], value.detach()), f"{name} was changed in place")

    def test_reduction_is_the_sum_of_the_shares(self) -> None:
        """`shares` says what each loss contributes to `reduce`."""
        objective = self.objective()
        output = objective(self._batch())
        require(
            objective.normalized_losses(output).shape == output.losses.shape, "there has to be one share for every loss"
        )
        require_close(
            objective.normalized_losses(output).sum(), objective.reduce(output), "shares have to sum to the loss"
        )

    def test_state_dict_round_trip(self) -> None:
        """An objective that loads another's state, also after training steps, gives the same loss."""
        trained = self.objective().train()
        for seed in range(3):
            trained(self._batch(seed))
        fresh = self.objective()
        fresh.load_state_dict(copy.deepcopy(trained.state_dict()))
        batch = self._batch()
        loss, other = (one.eval().reduce(one(batch)) for one in (trained, fresh))
        require_close(other, loss, "the loss after loading the state differs")

    def test_evaluation_changes_no_state(self) -> None:
        """In evaluation, the same batch gives the same loss twice and leaves the state as it was."""
        objective, batch = self.objective().eval(), self._batch()
        before = copy.deepcopy(objective.state_dict())
        loss, again = objective.reduce(objective(batch)), objective.reduce(objective(batch))
        require(torch.equal(loss, again), "the same batch gives another loss the second time")
        after = objective.state_dict()
        require(
            before.keys() == after.keys() and all(torch.equal(before[key], after[key]) for key in before),
            "the state changed in evaluation",
        )

    def test_a_step_lowers_the_loss(self) -> None:
        """A small step against the gradient lowers the loss."""
        batch = self._batch()
        loss, gradient = self._loss_and_gradient(batch)
        stepped = (batch.rewards.detach() - 1e-4 * gradient / gradient.norm().clamp_min(1e-12)).requires_grad_()
        other, _ = self._loss_and_gradient(batch._replace(rewards=stepped))
        require(float(other) < float(loss), "a small step against the gradient does not lower the loss")

    def test_training_improves_the_order(self) -> None:
        """Gradient descent from wrong rewards orders more of the pairs right in total."""
        batch = self._batch()
        rewards = (-0.2 * batch.quality).requires_grad_()
        objective = self.objective()
        optimizer = torch.optim.Adam([rewards], lr=0.05)
        before = _pair_accuracy(batch._replace(rewards=rewards))
        for _ in range(self.steps):
            optimizer.zero_grad()
            loss = objective.reduce(objective(batch._replace(rewards=rewards)))
            (rewards.grad,) = torch.autograd.grad(loss, rewards)
            optimizer.step()
        after = _pair_accuracy(batch._replace(rewards=rewards))
        require(after > before, f"training does not improve the order: {before:.2f} before, {after:.2f} after")

    def _batch(self, seed: int = 0) -> RewardBatch:
        return make_reward_batch(num_criteria=self.num_criteria, seed=seed, dtype=torch.float64)

    def _loss_and_gradient(self, batch: RewardBatch) -> tuple[Tensor, Tensor]:
        objective = self.objective()
        loss = objective.reduce(objective(batch))
        require(loss.requires_grad, "the loss has to hang on the rewards")
        (gradient,) = torch.autograd.grad(loss, batch.rewards)
        return loss.detach(), gradient


class WeightingConformance(ABC):
    """What any `CriterionWeighting` has to satisfy; subclass it and give `weighting`."""

    num_criteria: int = 6
    """How many criteria the weighting is tested with."""

    @staticmethod
    @abstractmethod
    def weighting() -> CriterionWeighting:
        """A new weighting; called by every test."""

    def test_weights_are_finite_and_not_negative(self) -> None:
        """(N,) finite weights >= 0, not all 0, before and after outcomes were seen."""
        weighting = self.weighting()
        for seed in range(4):
            weights = weighting.weights(self.num_criteria)
            require(weights.shape == (self.num_criteria,), f"weights have to be (N,) but are {tuple(weights.shape)}")
            require(bool((weights.isfinite() & (weights >= 0)).all()), "weights have to be finite and >= 0")
            require(bool((weights > 0).any()), "some weight has to be above 0")
            weighting.update(*self._outcomes(seed))

    def test_weights_carry_no_gradient(self) -> None:
        """Weights are constants to the loss."""
        require(not self.weighting().weights(self.num_criteria).requires_grad, "weights have to be detached")

    def test_mean_of_a_constant(self) -> None:
        """The mean of equal values is that value, in any dtype: the weights do not change the scale of a loss."""
        weighting = self.weighting()
        for seed in range(4):
            for dtype in (torch.float64, torch.float32, torch.bfloat16):
                mean = weighting(torch.full((5, self.num_criteria), 3.0, dtype=dtype))
                require(
                    mean.shape == (5,) and mean.dtype == dtype, "the mean has to be (n,) in the dtype of the values"
                )
                require(bool(((mean - 3).abs() < 0.05).all()), "the mean of equal values has to be that value")
            weighting.update(*self._outcomes(seed))

    def test_mean_is_the_weighted_mean(self) -> None:
        """Calling the weighting takes Σ w x / Σ w."""
        weighting = self.weighting()
        values = torch.randn(5, self.num_criteria, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        weights = weighting.weights(self.num_criteria).double()
        expected = sum(weights[j] * values[:, j] for j in range(self.num_criteria)) / weights.sum()
        require_close(weighting(values), torch.as_tensor(expected), "the mean is not the weighted mean")

    def test_no_outcomes(self) -> None:
        """An update without outcomes, as a batch without pairs gives, leaves usable weights."""
        weighting = self.weighting()
        nothing = torch.zeros(0, self.num_criteria, dtype=torch.bool)
        for _ in range(3):
            weighting.update(nothing, nothing)
        require(bool(weighting.weights(self.num_criteria).isfinite().all()), "weights have to stay finite")

    def test_state_dict_round_trip(self) -> None:
        """A weighting that loads another's state goes on as the other does."""
        trained = self.weighting()
        for seed in range(3):
            trained.update(*self._outcomes(seed))
        fresh = self.weighting()
        fresh.load_state_dict(copy.deepcopy(trained.state_dict()))
        for seed in range(3, 6):
            weights, other = trained.weights(self.num_criteria), fresh.weights(self.num_criteria)
            require(torch.equal(weights, other), "the weights after loading the state differ")
            for one in (trained, fresh):
                one.update(*self._outcomes(seed))

    def _outcomes(self, seed: int) -> tuple[Tensor, Tensor]:
        predicted, actual = torch.rand(2, 20, self.num_criteria, generator=torch.Generator().manual_seed(seed)) < 0.5
        return predicted, actual


def _pair_accuracy(batch: RewardBatch) -> float:
    total = batch.rewards.detach().sum(1)
    return float((total[batch.pairs[:, 0]] > total[batch.pairs[:, 1]]).double().mean())
