"""Objectives on rollouts: advantages of completions, then a loss on their tokens."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import Tensor, nn

from radreward.distributed import raise_on_all_ranks
from radreward.errors import InputError
from radreward.objectives.advantage_estimators import AdvantageEstimator, StandardizedAdvantage
from radreward.objectives.advantage_scaling import AdvantageScaling, NoScaling
from radreward.objectives.functional import policy
from radreward.objectives.functional.accuracy_rewards import round_half_up
from radreward.objectives.reward_functions import FormatReward, GaussianAccuracy, ReasoningReward, RewardFunction
from radreward.objectives.token_averages import CompletionAverage, TokenAverage, token_means
from radreward.objectives.weighting import CriterionWeighting, UniformWeighting
from radreward.types import AdvantageEstimate, ObjectiveOutput, ParsedCompletions

logger = logging.getLogger(__name__)


class Rollouts(NamedTuple):
    """Token log-probabilities of completions under several policies."""

    logps: Tensor
    """(B, G, T) under the current policy; differentiable."""
    old_logps: Tensor
    """(B, G, T) under the policy that sampled them."""
    ref_logps: Tensor | None
    """(B, G, T) under the reference policy; None if unused."""
    mask: Tensor
    """(B, G, T) bool: True for completion tokens, False for padding."""
    advantages: Tensor
    """(B, G), see `AdvantageEstimate`."""


class RolloutObjective(nn.Module, ABC):
    """A loss on a policy's own completions.

    The training module calls `compute_advantages` once per rollout batch, and minimizes the objective's loss in each
    update on this batch.
    """

    @abstractmethod
    def compute_advantages(self, completions: ParsedCompletions) -> AdvantageEstimate:
        """Return rewards and advantages. A log key that ends in "/j" belongs to criterion j.

        Raises:
            InputError: If a reward cannot be computed. The message names the reward function.
        """

    @abstractmethod
    def forward(self, rollouts: Rollouts) -> ObjectiveOutput:
        """Return the mean loss over the completions of all ranks, see `mean_over_ranks`, and scalars to log."""

    @property
    def uses_reference_policy(self) -> bool:
        """True if `ref_logps` are needed, which cost a forward pass."""
        return False

    if TYPE_CHECKING:

        def __call__(self, rollouts: Rollouts) -> ObjectiveOutput:
            """Call `forward`."""


class GRPO(RolloutObjective):
    """Group relative policy optimization (Shao et al. 2024) with the rewards of RadReason (section 3).

    The reward of a completion is w_a · (weighted mean accuracy over criteria) + Σ_k w_k r_k. Its advantage A is that of
    `estimator`, times the factor of `scaling`. A token's loss is -min(ρ A, clamp(ρ, 1 - ε, 1 + ε⁺) A) + β · KL, and
    `average` averages over tokens. The defaults of `estimator` and `average` are those of GRPO. Dr. GRPO has
    `CenteredAdvantage`, `FixedLengthAverage` and β = 0; DAPO has `AllTokenAverage`, ε⁺ = 0.28 and β = 0.

    Args:
        accuracy_reward: Reward per criterion, also passed to `scaling`; defaults to `GaussianAccuracy` with σ = 0.5.
        rewards: Further rewards; defaults to `FormatReward` and `ReasoningReward`.
        weighting: Weights of the criteria in the accuracy; `DynamicWeighting` for sub-score dynamic weighting (SDW).
        scaling: Scaling of advantages; `MajorityGuidedScaling` for majority-guided advantage scaling (MGAS).
        estimator: Advantages from rewards; defaults to `StandardizedAdvantage`.
        average: Average of the token losses; defaults to `CompletionAverage`.
        clip_epsilon: Clipping range of the probability ratio (ε).
        clip_epsilon_high: Clipping range above 1 (ε⁺); defaults to ε.
        kl_coef: Weight of the KL divergence from the reference policy (β); 0 skips that policy.

    Raises:
        ValueError: If a clipping range or `kl_coef` is out of range, or all rewards have weight 0.
    """

    def __init__(
        self,
        accuracy_reward: RewardFunction | None = None,
        rewards: Sequence[RewardFunction] | None = None,
        weighting: CriterionWeighting | None = None,
        scaling: AdvantageScaling | None = None,
        estimator: AdvantageEstimator | None = None,
        average: TokenAverage | None = None,
        clip_epsilon: float = 0.2,
        clip_epsilon_high: float | None = None,
        kl_coef: float = 0.04,
    ) -> None:
        super().__init__()
        if not 0 < clip_epsilon < 1:
            raise ValueError(f"Expected `clip_epsilon` to be in (0, 1) but got {clip_epsilon}.")
        if clip_epsilon_high is not None and not (math.isfinite(clip_epsilon_high) and clip_epsilon_high > 0):
            raise ValueError(f"Expected `clip_epsilon_high` to be finite and > 0 but got {clip_epsilon_high}.")
        if not (math.isfinite(kl_coef) and kl_coef >= 0):
            raise ValueError(f"Expected `kl_coef` to be finite and >= 0 but got {kl_coef}.")
        self.accuracy_reward = GaussianAccuracy() if accuracy_reward is None else accuracy_reward
        self.rewards = nn.ModuleList([FormatReward(), ReasoningReward()] if rewards is None else rewards)
        self.weighting = UniformWeighting() if weighting is None else weighting
        self.scaling = NoScaling() if scaling is None else scaling
        self.estimator = StandardizedAdvantage() if estimator is None else estimator
        self.average = CompletionAverage() if average is None else average
        if not any(function.weight for function in self._named_rewards().values()):
            raise ValueError("Expected a reward with a weight above 0 but all weights are 0.")
        self.clip_epsilon = clip_epsilon
        self.clip_epsilon_high = clip_epsilon if clip_epsilon_high is None else clip_epsilon_high
        self.kl_coef = kl_coef

    @property
    def uses_reference_policy(self) -> bool:
        """True if `kl_coef` is above 0."""
        return self.kl_coef > 0

    @torch.no_grad()
    def compute_advantages(self, completions: ParsedCompletions) -> AdvantageEstimate:
        """Return rewards, advantages and their scales; in training, update the weighting.

        Raises:
            InputError: If a reward function fails, returns another shape or no finite value. The message names the
                reward function.
        """
        logs = self.weighting.logs()
        functions = self._named_rewards()
        parts: dict[str, Tensor] = {}
        with raise_on_all_ranks(completions.error_counts.device):
            for name, function in functions.items():
                parts[name] = self._evaluate_reward(name, function, completions, logs)
        # A reward of weight 0 is only logged: its NaN must not remove the completion.
        weighted = [functions[name].weight * part for name, part in parts.items() if functions[name].weight]
        rewards = torch.stack(weighted).sum(0)
        scales = self.scaling(completions, parts["accuracy"])
        advantages = self.advantages(rewards) * scales
        logs |= {f"reward/{name}": part.nanmean() for name, part in parts.items()}
        logs |= {
            "reward/total": rewards.nanmean(),
            "reward/std": _group_std(rewards).mean(),
            "advantage/max_abs": advantages.abs().max(),
            "advantage/scale": scales.mean(),
            "groups/without_gradient": (advantages == 0).all(1).float().mean(),
            "completions/without_reward": rewards.isnan().float().mean(),
            "completions/well_formed": completions.well_formed.float().mean(),
        }
        if self.training:
            self.weighting.update(*_error_presence(completions))
        return AdvantageEstimate(advantages, rewards, scales, logs)

    def advantages(self, rewards: Tensor) -> Tensor:
        """Return (B, G) advantages of (B, G) rewards; a completion without a reward (NaN) is left out of its group."""
        if not rewards.isnan().any():
            return cast("Tensor", self.estimator(rewards))
        advantages = torch.zeros_like(rewards)
        for group, row in enumerate(rewards):
            rewarded = ~row.isnan()
            if rewarded.sum() > 1:
                advantages[group, rewarded] = self.estimator(row[rewarded].unsqueeze(0))[0]
        return advantages

    def forward(self, rollouts: Rollouts) -> ObjectiveOutput:
        """Return the average of the token losses over the completions of all ranks."""
        ratio = (rollouts.logps - rollouts.old_logps).exp()
        advantages = rollouts.advantages.to(ratio.dtype).unsqueeze(-1)  # (B, G, 1)
        losses = policy.clipped_surrogate(ratio, advantages, self.clip_epsilon, self.clip_epsilon_high)
        above = (ratio > 1 + self.clip_epsilon_high) & (advantages > 0)
        below = (ratio < 1 - self.clip_epsilon) & (advantages < 0)
        clipped = (above | below).to(ratio.dtype)  # tokens without gradient
        logs = {"clipped": token_means(clipped, rollouts.mask).mean().detach()}
        if self.kl_coef:
            if rollouts.ref_logps is None:
                raise ValueError("Expected `ref_logps`, which the KL divergence needs, but got None.")
            divergence = policy.k3_kl(rollouts.logps, rollouts.ref_logps)
            losses = losses + self.kl_coef * divergence
            logs["kl"] = token_means(divergence, rollouts.mask).mean().detach()
        return ObjectiveOutput(self.average(losses, rollouts.mask), logs)

    def _named_rewards(self) -> dict[str, RewardFunction]:
        """Return all reward functions by name in the logs; the second of a class is named Class_2."""
        named = {"accuracy": self.accuracy_reward}
        for function in cast("Iterable[RewardFunction]", self.rewards):
            name, number = type(function).__name__, 1
            while (key := name if number == 1 else f"{name}_{number}") in named:
                number += 1
            named[key] = function
        return named

    def _evaluate_reward(
        self, name: str, function: RewardFunction, completions: ParsedCompletions, logs: dict[str, Tensor]
    ) -> Tensor:
        """Return (B, G) rewards, averaging and logging rewards per criterion; NaN if not finite."""
        class_name = type(function).__name__
        try:
            rewards = function(completions)
        except Exception as error:
            raise InputError(f"The reward function {class_name} failed: {type(error).__name__}: {error}") from error
        shape, num_criteria = tuple(completions.well_formed.shape), completions.target.shape[-1]
        if not isinstance(rewards, Tensor) or tuple(rewards.shape) not in (shape, (*shape, num_criteria)):
            actual = tuple(rewards.shape) if isinstance(rewards, Tensor) else type(rewards).__name__
            raise InputError(
                f"The reward function {class_name}: Expected a tensor of shape {shape} or {(*shape, num_criteria)} "
                f"but got {actual}."
            )
        rewards = rewards.to(completions.error_counts)
        rewards = rewards.masked_fill(~rewards.isfinite(), torch.nan)
        if rewards.ndim == 3:
            logs |= {f"reward/{name}/{j}": value for j, value in enumerate(rewards.nanmean((0, 1)))}
            rewards = self.weighting(rewards)
        if missing := int(rewards.isnan().sum()):
            if missing == rewards.numel():
                raise InputError(
                    f"The reward function {class_name} returned no finite value for any of {missing} completions."
                )
            message = "%s returned no finite value for %d of %d completions, which are left out."
            logger.warning(message, class_name, missing, rewards.numel())
        return rewards


def _error_presence(completions: ParsedCompletions) -> tuple[Tensor, Tensor]:
    """Return stated and actual presence of errors per criterion, (B·G, N) bool each; an unparsable count is none."""
    predicted = round_half_up(completions.error_counts) > 0
    actual = (round_half_up(completions.target) > 0).unsqueeze(1).expand_as(predicted)
    return predicted.flatten(0, 1), actual.flatten(0, 1)


def _group_std(rewards: Tensor) -> Tensor:
    """Return (B,) sample standard deviations of the rewards that are not NaN; 0 for fewer than two.

    >>> _group_std(torch.tensor([[1.0, 3.0, torch.nan], [1.0, torch.nan, torch.nan]])).tolist()
    [1.4142135381698608, 0.0]
    """
    squares = (rewards - rewards.nanmean(1, keepdim=True)).square().nansum(1)
    return (squares / (rewards.isfinite().sum(1) - 1).clamp_min(1)).sqrt()
