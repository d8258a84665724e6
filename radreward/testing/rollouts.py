"""Conformance suites for objectives on rollouts, reward functions and advantage scalings."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import replace

import torch
from torch import Tensor

from radreward.objectives import AdvantageScaling, RewardFunction, RolloutObjective, Rollouts
from radreward.testing.checks import (
    require,
    require_close,
    require_equal_states,
    require_finite_logs,
    require_finite_loss,
)
from radreward.testing.suite import ConformanceSuite
from radreward.types import ParsedCompletions


def make_completions(
    num_prompts: int = 3, group_size: int = 5, num_criteria: int = 6, seed: int = 0
) -> ParsedCompletions:
    """Return random completions with error counts from 0 to 2 and matching texts; every seventh one is unparsable.

    Args:
        num_prompts: Number of prompts B.
        group_size: Number of completions per prompt G.
        num_criteria: Number of criteria N.
        seed: Seed of all values.

    >>> completions = make_completions(num_prompts=2, group_size=3, num_criteria=4)
    >>> completions.error_counts.shape, completions.well_formed.shape, len(completions.texts)
    (torch.Size([2, 3, 4]), torch.Size([2, 3]), 2)
    """
    generator = torch.Generator().manual_seed(seed)
    error_counts = torch.randint(0, 3, (num_prompts, group_size, num_criteria), generator=generator).float()
    well_formed = torch.ones(num_prompts * group_size, dtype=torch.bool)
    well_formed[6::7] = False
    well_formed = well_formed.view(num_prompts, group_size)
    error_counts[~well_formed] = torch.nan
    return ParsedCompletions(
        error_counts=error_counts,
        target=torch.randint(0, 3, (num_prompts, num_criteria), generator=generator).float(),
        well_formed=well_formed,
        mentioned=torch.rand(num_prompts, group_size, num_criteria, generator=generator) < 0.7,
        texts=tuple(tuple(f"I find {row.tolist()}." for row in group) for group in error_counts),
        report_pairs=tuple((f"Reference {b}.", f"Candidate {b}.") for b in range(num_prompts)),
    )


def make_rollouts(
    num_prompts: int = 3, group_size: int = 5, max_tokens: int = 7, seed: int = 0, shift: float = 0.1
) -> Rollouts:
    """Return rollouts with random log-probabilities; those of the current policy require gradients.

    Args:
        num_prompts: Number of prompts B.
        group_size: Number of completions per prompt G.
        max_tokens: Maximum number of tokens of a completion T; lengths are random.
        seed: Seed of all values.
        shift: Standard deviation of the differences between the log-probabilities of two policies.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (num_prompts, group_size, max_tokens)
    old_logps = -torch.rand(shape, generator=generator, dtype=torch.float64) * 3
    noise = shift * torch.randn(2, *shape, generator=generator, dtype=torch.float64)
    lengths = torch.randint(1, max_tokens + 1, shape[:2], generator=generator)
    mask = torch.arange(max_tokens) < lengths.unsqueeze(-1)
    advantages = torch.randn(shape[:2], generator=generator, dtype=torch.float64)
    return Rollouts((old_logps + noise[0]).requires_grad_(), old_logps, old_logps + noise[1], mask, advantages)


class RolloutObjectiveConformance(ConformanceSuite):
    """Tests for a `RolloutObjective`; subclass it and define `objective`."""

    num_criteria: int = 6
    """Number of criteria of the completions."""

    @staticmethod
    @abstractmethod
    def objective() -> RolloutObjective:
        """Return a new objective; called by every test."""

    def test_advantages_finite_and_detached(self) -> None:
        """Advantages have the shape (B, G) and are finite and detached; logs are finite detached scalars."""
        completions = self._completions()
        estimate = self.objective().compute_advantages(completions)
        shape = completions.well_formed.shape
        require(estimate.advantages.shape == shape, f"advantages must be (B, G), {tuple(shape)}")
        require(estimate.rewards.shape == shape, f"rewards must be (B, G), {tuple(shape)}")
        require(bool(estimate.advantages.isfinite().all()), "advantages must be finite")
        require(not estimate.advantages.requires_grad, "advantages must be detached")
        require_finite_logs(estimate.logs)

    def test_completion_order_irrelevant(self) -> None:
        """Permuted completions of a prompt have permuted advantages."""
        completions = self._completions()
        order = torch.arange(completions.well_formed.shape[1]).flip(0)
        expected = self.objective().compute_advantages(completions).advantages[:, order]
        permuted = self.objective().compute_advantages(_reorder(completions, order)).advantages
        require_close(permuted, expected, "advantages depend on the order of the completions")

    def test_equal_completions_have_zero_advantage(self) -> None:
        """A prompt with equal completions has advantages of 0."""
        completions = _reorder(self._completions(), torch.zeros(4, dtype=torch.int64))
        advantages = self.objective().compute_advantages(completions).advantages
        require(not advantages.any(), "equal completions must have advantage 0")

    def test_loss_is_a_finite_scalar(self) -> None:
        """The loss is a finite scalar; logs are finite detached scalars."""
        require_finite_loss(self.objective()(make_rollouts()))

    def test_gradient_follows_advantages(self) -> None:
        """At the sampling policy, a gradient step makes exactly the completions with positive advantage more likely."""
        rollouts = make_rollouts(shift=0.0)
        gradient = self._gradient(rollouts)
        direction = -(gradient * rollouts.mask).sum(-1).sign()
        require(torch.equal(direction, rollouts.advantages.sign()), "the gradient does not follow the advantages")

    def test_padding_irrelevant(self) -> None:
        """The loss does not depend on padding, and its gradient there is 0."""
        rollouts = make_rollouts()
        logps = rollouts.logps.detach().masked_fill(~rollouts.mask, -5.0).requires_grad_()
        changed = rollouts._replace(logps=logps)
        objective = self.objective()
        require_close(objective(changed).loss, objective(rollouts).loss, "the loss depends on the padding")
        gradient = self._gradient(changed)
        require(not gradient[~rollouts.mask].any(), "a gradient reaches the padding")

    def test_completion_without_tokens(self) -> None:
        """With a completion without tokens, gradients are finite, and 0 for this completion."""
        rollouts = make_rollouts()
        mask = rollouts.mask.clone()
        mask[0, 0] = False
        gradient = self._gradient(rollouts._replace(mask=mask))
        require(bool(gradient.isfinite().all()), "a completion without tokens must leave gradients finite")
        require(not gradient[0, 0].any(), "a completion without tokens must have no gradient")

    def test_evaluation_keeps_state(self) -> None:
        """In evaluation mode, computing advantages does not change the state."""
        objective = self.objective().eval()
        before = copy.deepcopy(objective.state_dict())
        objective.compute_advantages(self._completions())
        require_equal_states(before, objective.state_dict(), "the state changed in evaluation mode")

    def test_state_dict_round_trip(self) -> None:
        """An objective that loads the state of another one computes the same advantages from then on."""
        trained, loaded = self.objective().train(), self.objective().train()
        for seed in range(3):
            trained.compute_advantages(self._completions(seed))
        loaded.load_state_dict(copy.deepcopy(trained.state_dict()))
        for seed in range(3, 6):
            completions = self._completions(seed)
            expected, actual = (o.compute_advantages(completions).advantages for o in (trained, loaded))
            require(torch.equal(expected, actual), "the advantages differ after loading the state")

    def _completions(self, seed: int = 0) -> ParsedCompletions:
        return make_completions(num_criteria=self.num_criteria, seed=seed)

    def _gradient(self, rollouts: Rollouts) -> Tensor:
        loss = self.objective()(rollouts).loss
        require(loss.requires_grad, "the loss must depend on the log-probabilities")
        (gradient,) = torch.autograd.grad(loss, rollouts.logps)
        return gradient


class RewardFunctionConformance(ConformanceSuite):
    """Tests for a `RewardFunction`; subclass it and define `reward`."""

    num_criteria: int = 6
    """Number of criteria of the completions."""

    @staticmethod
    @abstractmethod
    def reward() -> RewardFunction:
        """Return a new reward function; called by every test."""

    def test_rewards_finite(self) -> None:
        """Rewards have the shape (B, G) or (B, G, N) and are finite, also for unparsable completions."""
        completions = make_completions(num_criteria=self.num_criteria)
        rewards = self.reward()(completions)
        shape = tuple(completions.well_formed.shape)
        require(tuple(rewards.shape) in (shape, (*shape, self.num_criteria)), "rewards must be (B, G) or (B, G, N)")
        require(bool(rewards.isfinite().all()), "rewards must be finite")

    def test_completion_order_irrelevant(self) -> None:
        """Permuted completions have permuted rewards."""
        completions = make_completions(num_criteria=self.num_criteria)
        order = torch.arange(completions.well_formed.shape[1]).flip(0)
        expected, permuted = self.reward()(completions)[:, order], self.reward()(_reorder(completions, order))
        require_close(permuted, expected, "rewards depend on the order of the completions")

    def test_empty_completions_have_finite_rewards(self) -> None:
        """Empty completions have finite rewards."""
        completions = make_completions(num_criteria=self.num_criteria)
        empty = replace(
            completions,
            error_counts=torch.full_like(completions.error_counts, torch.nan),
            well_formed=torch.zeros_like(completions.well_formed),
            mentioned=torch.zeros_like(completions.mentioned),
            texts=tuple(("",) * len(group) for group in completions.texts),
        )
        require(bool(self.reward()(empty).isfinite().all()), "empty completions must have finite rewards")


class AdvantageScalingConformance(ConformanceSuite):
    """Tests for an `AdvantageScaling`; subclass it and define `scaling`."""

    @staticmethod
    @abstractmethod
    def scaling() -> AdvantageScaling:
        """Return a new scaling; called by every test."""

    def test_factors_finite_and_nonnegative(self) -> None:
        """Factors have the shape (B, G) and are finite and >= 0 for accuracies of 0, 0.5, 1 and NaN."""
        completions = make_completions()
        for value in (0.0, 0.5, 1.0, torch.nan):
            accuracy = torch.full(completions.well_formed.shape, value)
            factors = self.scaling()(completions, accuracy)
            require(factors.shape == accuracy.shape, "factors must be (B, G)")
            require(bool((factors.isfinite() & (factors >= 0)).all()), "factors must be finite and >= 0")

    def test_completion_order_irrelevant(self) -> None:
        """Permuted completions have permuted factors."""
        completions = make_completions()
        accuracy = torch.rand(completions.well_formed.shape, generator=torch.Generator().manual_seed(0))
        order = torch.arange(completions.well_formed.shape[1]).flip(0)
        expected = self.scaling()(completions, accuracy)[:, order]
        permuted = self.scaling()(_reorder(completions, order), accuracy[:, order])
        require_close(permuted, expected, "factors depend on the order of the completions")


def _reorder(completions: ParsedCompletions, order: Tensor) -> ParsedCompletions:
    return replace(
        completions,
        error_counts=completions.error_counts[:, order],
        well_formed=completions.well_formed[:, order],
        mentioned=completions.mentioned[:, order],
        texts=tuple(tuple(group[index] for index in order.tolist()) for group in completions.texts),
    )
