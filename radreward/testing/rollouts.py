"""Suites for objectives on rollouts, for reward functions and for scalings of advantages."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from radreward.objectives import AdvantageScaling, RewardFunction, RolloutObjective
from radreward.testing.checks import require, require_close
from radreward.types import ParsedCompletions, Rollouts


def make_completions(
    num_prompts: int = 3, group_size: int = 5, num_criteria: int = 6, seed: int = 0
) -> ParsedCompletions:
    """Random completions: error counts from 0 to 2, every seventh unreadable, texts that say what they state.

    Args:
        prompts: Number of prompts B.
        group: Completions of each, G.
        criteria: Number of criteria N.
        seed: The same seed gives the same completions.

    >>> completions = make_completions(prompts=2, group=3, criteria=4)
    >>> completions.values.shape, completions.valid.shape, len(completions.texts)
    (torch.Size([2, 3, 4]), torch.Size([2, 3]), 2)
    """
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(0, 3, (num_prompts, group_size, num_criteria), generator=generator).float()
    valid = torch.ones(num_prompts * group_size, dtype=torch.bool)
    valid[6::7] = False
    valid = valid.view(num_prompts, group_size)
    values[~valid] = torch.nan
    target = torch.randint(0, 3, (num_prompts, num_criteria), generator=generator).float()
    discussed = torch.rand(num_prompts, group_size, num_criteria, generator=generator) < 0.7
    texts = tuple(tuple(f"I find {row.tolist()}." for row in block) for block in values)
    reports = tuple((f"Reference {b}.", f"Candidate {b}.") for b in range(num_prompts))
    return ParsedCompletions(values, target, valid, discussed, texts, reports)


def make_rollouts(
    num_prompts: int = 3, group_size: int = 5, max_tokens: int = 7, seed: int = 0, shift: float = 0.1
) -> Rollouts:
    """Random log-probabilities of completions of 1 to T tokens; those of the trained policy require gradients.

    Args:
        prompts: Number of prompts B.
        group: Completions of each, G.
        tokens: The longest, T.
        seed: The same seed gives the same rollouts.
        shift: How far the policies differ, in log-probability.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (num_prompts, group_size, max_tokens)
    old = -torch.rand(shape, generator=generator, dtype=torch.float64) * 3
    noise = shift * torch.randn(2, *shape, generator=generator, dtype=torch.float64)
    lengths = torch.randint(1, max_tokens + 1, shape[:2], generator=generator)
    mask = torch.arange(max_tokens) < lengths.unsqueeze(-1)
    advantages = torch.randn(shape[:2], generator=generator, dtype=torch.float64)
    return Rollouts((old + noise[0]).requires_grad_(), old, old + noise[1], mask, advantages)


class RolloutObjectiveConformance(ABC):
    """What any `RolloutObjective` has to satisfy; subclass it and give `objective`. Every test builds a fresh one."""

    num_criteria: int = 6
    """How many criteria the completions have."""

    @staticmethod
    @abstractmethod
    def objective() -> RolloutObjective:
        """A new objective; called by every test."""

    def test_advantages_are_finite_and_of_every_completion(self) -> None:
        """(B, G) finite advantages without a gradient; terms are finite detached scalars."""
        completions = self._completions()
        judgement = self.objective().compute_advantages(completions)
        shape = completions.well_formed.shape
        require(judgement.advantages.shape == shape, f"advantages have to be (B, G) but are not {tuple(shape)}")
        require(judgement.rewards.shape == shape, "rewards have to be (B, G)")
        require(bool(judgement.advantages.isfinite().all()), "advantages have to be finite")
        require(not judgement.advantages.requires_grad, "advantages have to be constants to the loss")
        for name, term in judgement.logs.items():
            require(term.ndim == 0 and not term.requires_grad, f"term {name!r} has to be a detached scalar")
            require(bool(term.isfinite()), f"term {name!r} has to be finite")

    def test_order_of_completions_does_not_matter(self) -> None:
        """Completions of a prompt in another order have the same advantages, in that order."""
        completions = self._completions()
        order = torch.arange(completions.well_formed.shape[1]).flip(0)
        expected = self.objective().compute_advantages(completions).advantages[:, order]
        found = self.objective().compute_advantages(_reorder(completions, order)).advantages
        require_close(found, expected, "advantages depend on the order of the completions")

    def test_equal_completions_carry_no_gradient(self) -> None:
        """Where all completions of a prompt are the same, their advantages are 0."""
        completions = _reorder(self._completions(), torch.zeros(4, dtype=torch.int64))
        require(
            not self.objective().compute_advantages(completions).advantages.any(),
            "equal completions have to have advantage 0",
        )

    def test_losses_are_finite_and_unreduced(self) -> None:
        """(B·G,) finite losses that hang on the log-probabilities; terms are finite detached scalars."""
        rollouts = make_rollouts()
        output = self.objective()(rollouts)
        require(output.losses.shape == (rollouts.mask[..., 0].numel(),), "losses have to be one per completion, (B·G,)")
        require(bool(output.losses.isfinite().all()), "losses have to be finite")
        for name, term in output.logs.items():
            require(term.ndim == 0 and not term.requires_grad, f"term {name!r} has to be a detached scalar")
            require(bool(term.isfinite()), f"term {name!r} has to be finite")

    def test_good_completions_become_more_likely(self) -> None:
        """On the policy that drew them, the gradient raises completions above and lowers those below their group."""
        rollouts = make_rollouts(shift=0.0)
        gradient = self._gradient(rollouts)
        direction = -(gradient * rollouts.mask).sum(-1).sign()
        require(torch.equal(direction, rollouts.advantages.sign()), "the gradient does not follow the advantages")

    def test_padding_does_not_matter(self) -> None:
        """Whatever stands behind the end of a completion, loss and gradients are the same, and 0 there."""
        rollouts = make_rollouts()
        logps = rollouts.logps.detach().masked_fill(~rollouts.mask, -5.0).requires_grad_()
        other = rollouts._replace(logps=logps)
        objective = self.objective()
        require_close(objective(other).losses, objective(rollouts).losses, "the loss depends on the padding")
        gradient = self._gradient(other)
        require(not gradient[~rollouts.mask].any(), "a gradient reaches the padding")

    def test_a_completion_without_tokens(self) -> None:
        """Nothing was written: loss and gradient are finite."""
        rollouts = make_rollouts()
        mask = rollouts.mask.clone()
        mask[0, 0] = False
        gradient = self._gradient(rollouts._replace(mask=mask))
        require(bool(gradient.isfinite().all()), "a completion without tokens has to leave gradients finite")
        require(not gradient[0, 0].any(), "a completion without tokens has no gradient")

    def test_evaluation_changes_no_state(self) -> None:
        """In evaluation, judging leaves the state as it was."""
        objective = self.objective().eval()
        before = copy.deepcopy(objective.state_dict())
        objective.compute_advantages(self._completions())
        after = objective.state_dict()
        same = before.keys() == after.keys() and all(torch.equal(before[key], after[key]) for key in before)
        require(same, "the state changed in evaluation")

    def test_state_dict_round_trip(self) -> None:
        """An objective that loads another's state goes on as the other does."""
        trained, fresh = self.objective().train(), self.objective().train()
        for seed in range(3):
            trained.compute_advantages(self._completions(seed))
        fresh.load_state_dict(copy.deepcopy(trained.state_dict()))
        for seed in range(3, 6):
            expected, found = (one.compute_advantages(self._completions(seed)).advantages for one in (trained, fresh))
            require(torch.equal(expected, found), "the advantages after loading the state differ")

    def _completions(self, seed: int = 0) -> ParsedCompletions:
        return make_completions(num_criteria=self.num_criteria, seed=seed)

    def _gradient(self, rollouts: Rollouts) -> Tensor:
        objective = self.objective()
        loss = objective.reduce(objective(rollouts))
        require(loss.requires_grad, "the loss has to hang on the log-probabilities")
        (gradient,) = torch.autograd.grad(loss, rollouts.logps)
        return gradient


class RewardFunctionConformance(ABC):
    """What any `RewardFunction` has to satisfy; subclass it and give `reward`."""

    num_criteria: int = 6
    """How many criteria the completions have."""

    @staticmethod
    @abstractmethod
    def reward() -> RewardFunction:
        """A new reward function; called by every test."""

    def test_rewards_are_finite_and_of_every_completion(self) -> None:
        """(B, G) or (B, G, N) finite numbers, also of completions that cannot be read."""
        completions = make_completions(num_criteria=self.num_criteria)
        rewards = self.reward()(completions)
        shape = tuple(completions.well_formed.shape)
        require(tuple(rewards.shape) in (shape, (*shape, self.num_criteria)), "rewards have to be (B, G) or (B, G, N)")
        require(bool(rewards.isfinite().all()), "rewards have to be finite")

    def test_order_of_completions_does_not_matter(self) -> None:
        """A completion's reward does not depend on its place."""
        completions = make_completions(num_criteria=self.num_criteria)
        order = torch.arange(completions.well_formed.shape[1]).flip(0)
        expected, found = self.reward()(completions)[:, order], self.reward()(_reorder(completions, order))
        require_close(found, expected, "rewards depend on the order of the completions")

    def test_nothing_readable(self) -> None:
        """Where nothing was read and nothing was written, rewards are finite."""
        completions = make_completions(num_criteria=self.num_criteria)
        nothing = completions._replace(
            error_counts=torch.full_like(completions.error_counts, torch.nan),
            well_formed=torch.zeros_like(completions.well_formed),
            mentioned=torch.zeros_like(completions.mentioned),
            texts=tuple(("",) * len(group) for group in completions.texts),
        )
        require(bool(self.reward()(nothing).isfinite().all()), "empty completions have to have finite rewards")


class AdvantageScalingConformance(ABC):
    """What any `AdvantageScaling` has to satisfy; subclass it and give `scaling`."""

    @staticmethod
    @abstractmethod
    def scaling() -> AdvantageScaling:
        """A new scaling; called by every test."""

    def test_factors_are_finite_and_not_negative(self) -> None:
        """(B, G) finite factors >= 0, with accuracies at both ends, and where one is missing."""
        completions = make_completions()
        for accuracy in (0.0, 0.5, 1.0, torch.nan):
            given = torch.full(completions.well_formed.shape, accuracy)
            scales = self.scaling()(completions, given)
            require(scales.shape == given.shape, "factors have to be (B, G)")
            require(bool((scales.isfinite() & (scales >= 0)).all()), "factors have to be finite and >= 0")

    def test_order_of_completions_does_not_matter(self) -> None:
        """A completion's factor does not depend on its place."""
        completions = make_completions()
        accuracy = torch.rand(completions.well_formed.shape, generator=torch.Generator().manual_seed(0))
        order = torch.arange(completions.well_formed.shape[1]).flip(0)
        expected = self.scaling()(completions, accuracy)[:, order]
        found = self.scaling()(_reorder(completions, order), accuracy[:, order])
        require_close(found, expected, "factors depend on the order of the completions")


def _reorder(completions: ParsedCompletions, order: Tensor) -> ParsedCompletions:
    return completions._replace(
        error_counts=completions.error_counts[:, order],
        well_formed=completions.well_formed[:, order],
        mentioned=completions.mentioned[:, order],
        texts=tuple(tuple(group[place] for place in order.tolist()) for group in completions.texts),
    )
