"""Token losses of policy optimization as pure functions."""

from __future__ import annotations

import torch
from torch import Tensor


def clipped_surrogate(
    ratio: Tensor, advantages: Tensor, clip_epsilon: float, clip_epsilon_high: float | None = None
) -> Tensor:
    """Return the token losses -min(ρ A, clamp(ρ, 1 - ε, 1 + ε⁺) A) (PPO, Schulman et al. 2017, Eq. 7).

    Args:
        ratio: Probability of the token under the current policy over that under the sampling policy (ρ).
        advantages: A, broadcastable to `ratio`.
        clip_epsilon: ε.
        clip_epsilon_high: ε⁺ (DAPO, Yu et al. 2025, Eq. 10); defaults to ε.

    >>> clipped_surrogate(torch.tensor([1.0, 1.5, 1.5]), torch.tensor([1.0, 1.0, -1.0]), 0.2)
    tensor([-1.0000, -1.2000,  1.5000])
    """
    high = clip_epsilon if clip_epsilon_high is None else clip_epsilon_high
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip_epsilon, 1 + high) * advantages)


def k3_kl(logps: Tensor, ref_logps: Tensor) -> Tensor:
    """Return the KL divergence estimate exp(q - p) - (q - p) - 1 >= 0 at each sampled token.

    Schulman (2020), "Approximating KL divergence", k3; GRPO, Eq. 4. Unbiased if the token was sampled from p, as in
    the first update on a rollout batch.

    Args:
        logps: p, log-probabilities under the current policy.
        ref_logps: q, log-probabilities under the reference policy.

    >>> k3_kl(torch.tensor([0.0, -1.0]), torch.tensor([0.0, -2.0]))
    tensor([0.0000, 0.3679])
    """
    difference = ref_logps - logps
    return difference.exp() - difference - 1
