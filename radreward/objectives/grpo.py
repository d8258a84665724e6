"""What every objective on rollouts is: what completions are worth, then a loss of their tokens."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from radreward.distributed import mean_count_per_rank, raise_on_all_ranks
from radreward.errors import InputError
from radreward.objectives.advantage_scaling import AdvantageScaling, NoScaling
from radreward.objectives.functional import policy as functional
from radreward.objectives.reward_functions import FormatReward, GaussianAccuracy, ReasoningReward, RewardFunction
from radreward.objectives.weighting import CriterionWeighting, UniformWeighting
from radreward.types import AdvantageEstimate, ObjectiveOutput, ParsedCompletions, Rollouts

logger = logging.getLogger(__name__)


class RolloutObjective(nn.Module, ABC):
    """A loss on what a policy wrote itself; sees tensors and, for rewards, texts.

    Whoever trains calls `judge` once for every batch of rollouts and the objective itself for every update on it, and
    minimises `reduce` of its output.
    """

    @abstractmethod
    def compute_advantages(self, completions: ParsedCompletions) -> AdvantageEstimate:
        """What the completions are worth. A key of its terms that ends in "/j" belongs to criterion j.

        Raises:
            InputError: If a reward cannot be computed; names the function.
        """

    @abstractmethod
    def forward(self, rollouts: Rollouts) -> ObjectiveOutput:
        """(B·G,) losses of the completions, and detached scalars to log."""

    @property
    def uses_reference_policy(self) -> bool:
        """Whether `ref_logps` are read: they cost a forward pass."""
        return False

    if TYPE_CHECKING:

        def __call__(self, rollouts: Rollouts) -> ObjectiveOutput:
            """As `forward`."""

    def reduce(self, output: ObjectiveOutput) -> Tensor:
        """The one number to minimise: the mean over all completions, of all processes that train together."""
        return output.losses.sum() / mean_count_per_rank(len(output.losses), output.losses.device)


class GRPO(RolloutObjective):
    """Group relative policy optimisation (GRPO, Shao et al. 2024), with the rewards of RadReason (section 3).

    A completion's reward is w_a · (weighted mean of its accuracy over the criteria) + Σ_k w_k r_k, its advantage the
    reward's distance from its group's mean in deviations, times what `scaling` says. The loss of a completion is the
    mean over its tokens of -min(ρ A, clamp(ρ, 1 - ε, 1 + ε) A) + β · KL.

    Args:
        accuracy: The reward by criterion; that of `scaling` too. Gaussian with σ = 0.5 where nothing is given.
        rewards: Others; form and reasoning where nothing is given.
        weighting: How the criteria weigh in the accuracy; `DynamicWeighting` for sub-score dynamic weighting (SDW). What it
            learns from: criteria with and without errors, as completions state and as is known.
        scaling: Of advantages; `MajorityGuidedScaling` for majority-guided advantage scaling (MGAS).
        clip: ε.
        kl: β, of the divergence from the policy before training; 0 does without that policy.

    Raises:
        ValueError: If `clip` or `kl` is out of its range, or all rewards weigh 0.
    """

    def __init__(
        self,
        accuracy_reward: RewardFunction | None = None,
        rewards: Sequence[RewardFunction] | None = None,
        weighting: CriterionWeighting | None = None,
        scaling: AdvantageScaling | None = None,
        clip_epsilon: float = 0.2,
        kl_coef: float = 0.04,
    ) -> None:
        super().__init__()
        if not 0 < clip_epsilon < 1:
            raise ValueError(f"Expected `clip` to be in (0, 1) but got {clip_epsilon}.")
        if not (math.isfinite(kl_coef) and kl_coef >= 0):
            raise ValueError(f"Expected `kl` to be finite and >= 0 but got {kl_coef}.")
        self.accuracy_reward = GaussianAccuracy() if accuracy_reward is None else accuracy_reward
        self.rewards = nn.ModuleList([FormatReward(), ReasoningReward()] if rewards is None else rewards)
        self.weighting = UniformWeighting() if weighting is None else weighting
        self.scaling = NoScaling() if scaling is None else scaling
        if not any(function.weight for function in self._named_rewards().values()):
            raise ValueError("Expected a reward that weighs more than 0 but all weigh 0.")
        self.clip_epsilon, self.kl_coef = clip_epsilon, kl_coef

    @property
    def uses_reference_policy(self) -> bool:
        """Whether the divergence counts."""
        return self.kl_coef > 0

    @torch.no_grad()
    def compute_advantages(self, completions: ParsedCompletions) -> AdvantageEstimate:
        """Rewards, advantages and their scales; in training, the weighting is told how the completions did.

        Raises:
            InputError: If a reward function fails, gives another shape, or nothing can be judged; names it.
        """
        terms = self.weighting.logs()
        parts: dict[str, Tensor] = {}
        with raise_on_all_ranks(completions.error_counts.device):
            for name, function in self._named_rewards().items():
                parts[name] = self._evaluate_reward(name, function, completions, terms)
        weights = {name: function.weight for name, function in self._named_rewards().items()}
        # One that weighs nothing is logged alone: where it has no number, the completion has its reward all the same.
        rewards = torch.stack([weights[name] * part for name, part in parts.items() if weights[name]]).sum(0)
        scales = self.scaling(completions, parts["accuracy"])
        advantages = self.advantages(rewards) * scales
        terms |= {f"reward/{name}": part.nanmean() for name, part in parts.items()}
        terms |= {
            "reward/total": rewards.nanmean(),
            "reward/deviation": _group_std(rewards).mean(),
            "advantage/largest": advantages.abs().max(),
            "advantage/scale": scales.mean(),
            "groups/without_gradient": (advantages == 0).all(1).float().mean(),
            "completions/unjudged": rewards.isnan().float().mean(),
            "completions/valid": completions.well_formed.float().mean(),
        }
        if self.training:
            self.weighting.update(*error_presence(completions))
        return AdvantageEstimate(advantages, rewards, scales, terms)

    def advantages(self, rewards: Tensor) -> Tensor:
        """(B, G) from rewards (B, G); a completion without a reward (NaN) has none and leaves the others theirs."""
        if not rewards.isnan().any():
            return functional.group_advantages(rewards)
        advantages = torch.zeros_like(rewards)
        for group, row in enumerate(rewards):
            judged = ~row.isnan()
            if judged.sum() > 1:
                advantages[group, judged] = functional.group_advantages(row[judged].unsqueeze(0))[0]
        return advantages

    def forward(self, rollouts: Rollouts) -> ObjectiveOutput:
        """Mean over the tokens of each completion; one without tokens has the loss 0."""
        ratio = (rollouts.logps - rollouts.old_logps).exp()
        advantages = rollouts.advantages.to(ratio.dtype).unsqueeze(-1)  # (B, G, 1)
        losses = functional.clipped_surrogate(ratio, advantages, self.clip_epsilon)
        # Where the clip cuts the gradient off.
        beyond = torch.where(
            advantages > 0, ratio > 1 + self.clip_epsilon, (ratio < 1 - self.clip_epsilon) & (advantages < 0)
        )
        terms = {"clipped": _token_mean(beyond.to(ratio.dtype), rollouts.mask).mean().detach()}
        if self.kl_coef:
            if rollouts.ref_logps is None:
                raise ValueError("Expected `ref_logps`: the divergence from the policy before training counts.")
            divergence = functional.k3_kl(rollouts.logps, rollouts.ref_logps)
            losses = losses + self.kl_coef * divergence
            terms["kl"] = _token_mean(divergence, rollouts.mask).mean().detach()
        return ObjectiveOutput(_token_mean(losses, rollouts.mask).flatten(), terms)

    def _named_rewards(self) -> dict[str, RewardFunction]:
        """All reward functions by the name in logs; of a class that is there twice, the second is Class_2."""
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
        """(B, G); by criterion it is averaged, and logged by criterion."""
        who = type(function).__name__
        try:
            rewards = function(completions)
        except Exception as error:
            raise InputError(f"The reward function {who} failed: {type(error).__name__}: {error}") from error
        shape, criteria = tuple(completions.well_formed.shape), completions.target.shape[-1]
        if not isinstance(rewards, Tensor) or tuple(rewards.shape) not in (shape, (*shape, criteria)):
            found = tuple(rewards.shape) if isinstance(rewards, Tensor) else type(rewards).__name__
            raise InputError(f"The reward function {who} gave {found}, not {shape} or {(*shape, criteria)}.")
        rewards = rewards.to(completions.error_counts)
        rewards = rewards.masked_fill(~rewards.isfinite(), torch.nan)
        if rewards.ndim == 3:
            logs |= {f"reward/{name}/{j}": value for j, value in enumerate(rewards.nanmean((0, 1)))}
            rewards = self.weighting(rewards)
        if unjudged := int(rewards.isnan().sum()):
            if unjudged == rewards.numel():
                raise InputError(f"The reward function {who} gave no finite number for any of {unjudged} completions.")
            logger.warning(
                "%s gave no finite number for %d of %d completions: these are left out.",
                *(who, unjudged, rewards.numel()),
            )
        return rewards


def error_presence(completions: ParsedCompletions) -> tuple[Tensor, Tensor]:
    """Which criteria have errors, by the completions and as is known: (B·G, N) bool each, for a weighting.

    A sub-score that cannot be read says that there is none.

    >>> one = torch.ones(1, 1, 2)
    >>> predicted, actual = outcomes(Completions(one * 0.6, one[0] * 0, one[..., 0], one, (("",),), (("", ""),)))
    >>> predicted.tolist(), actual.tolist()
    ([[True, True]], [[False, False]])
    """
    predicted = functional.round_half_up(completions.error_counts) > 0
    actual = (functional.round_half_up(completions.target) > 0).unsqueeze(1).expand_as(predicted)
    return predicted.flatten(0, 1), actual.flatten(0, 1)


def _token_mean(values: Tensor, mask: Tensor) -> Tensor:
    """(B, G) means over the tokens of a completion; 0 for one without tokens."""
    return values.masked_fill(~mask, 0.0).sum(-1) / mask.sum(-1).clamp_min(1)


def _group_std(rewards: Tensor) -> Tensor:
    """(B,) of the rewards that are there, as a sample, as advantages take it; 0 where there are less than two.

    >>> _deviation(torch.tensor([[1.0, 3.0, torch.nan], [1.0, torch.nan, torch.nan]])).tolist()
    [1.4142135381698608, 0.0]
    """
    squares = (rewards - rewards.nanmean(1, keepdim=True)).square().nansum(1)
    return (squares / (rewards.isfinite().sum(1) - 1).clamp_min(1)).sqrt()
