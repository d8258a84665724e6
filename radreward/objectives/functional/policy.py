"""The formulas of policy optimisation as pure functions: B prompts, G completions of each, T tokens, N criteria."""

from __future__ import annotations

import torch
from torch import Tensor


def group_advantages(rewards: Tensor, epsilon: float = 1e-4) -> Tensor:
    """How much better a completion is than the others of its prompt (GRPO, Shao et al. 2024, section 4.1.2).

    (r - mean r) / (std r + ε) within each group, with the deviation of a sample (G - 1). Where all rewards of a group
    are equal, exactly 0: such a group carries no gradient.

    Args:
        rewards: (B, G) with G >= 2.
        epsilon: ε, keeps groups that hardly differ from being blown up.

    Returns:
        (B, G), of mean 0 in each group.

    Raises:
        ValueError: If there is one completion a prompt: it cannot be compared.

    >>> group_advantages(torch.tensor([[0.0, 1.0, 2.0], [5.0, 5.0, 5.0]]))
    tensor([[-0.9999,  0.0000,  0.9999],
            [ 0.0000,  0.0000,  0.0000]])
    """
    if rewards.ndim != 2 or rewards.shape[1] < 2:
        raise ValueError(f"Expected rewards (B, G) with G >= 2 but got {tuple(rewards.shape)}.")
    centred = rewards - rewards.mean(1, keepdim=True)
    same = (rewards == rewards[:, :1]).all(1, keepdim=True)
    return (centred / (rewards.std(1, keepdim=True) + epsilon)).masked_fill(same, 0.0)


def clipped_surrogate(ratio: Tensor, advantages: Tensor, clip_epsilon: float) -> Tensor:
    """Loss of each token, -min(ρ A, clamp(ρ, 1 - ε, 1 + ε) A) (PPO, Schulman et al. 2017, Eq. 7).

    Args:
        ratio: ρ, probability of the token now over that when it was drawn.
        advantages: A, of a shape that broadcasts.
        clip: ε.

    >>> clipped_surrogate(torch.tensor([1.0, 1.5, 1.5]), torch.tensor([1.0, 1.0, -1.0]), 0.2)
    tensor([-1.0000, -1.2000,  1.5000])
    """
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip_epsilon, 1 + clip_epsilon) * advantages)


def k3_kl(logps: Tensor, ref_logps: Tensor) -> Tensor:
    """Divergence of a policy from its reference at each drawn token: exp(q - p) - (q - p) - 1 >= 0, unbiased.

    Schulman (2020), "Approximating KL divergence", k3; GRPO, Eq. 4.

    Args:
        logps: p, log-probability of the token by the policy as it is now; unbiased where that policy drew it,
            in the first of the updates that take the same draws.
        ref_logps: q, by the reference.

    >>> kl_estimate(torch.tensor([0.0, -1.0]), torch.tensor([0.0, -2.0]))
    tensor([0.0000, 0.3679])
    """
    difference = ref_logps - logps
    return difference.exp() - difference - 1


def gaussian_accuracy(values: Tensor, target: Tensor, sigma: float) -> Tensor:
    """How near a sub-score is: exp(-(v - t)² / (2 σ²)), elementwise (RadReason, Eq. 5); 0 where v is NaN.

    Args:
        values: v, the sub-scores that were given; NaN where none can be read.
        target: t, those that are known, of a shape that broadcasts.
        sigma: σ, the difference at which the reward has fallen to 0.607.

    Returns:
        In [0, 1]; 0 also where a value is infinite.

    >>> gaussian_accuracy(torch.tensor([2.0, 1.5, 1.0]), torch.tensor(2.0), 0.5)
    tensor([1.0000, 0.6065, 0.1353])
    """
    return (-(values - target).square() / (2 * sigma**2)).exp().nan_to_num(0.0)


def binary_accuracy(values: Tensor, target: Tensor) -> Tensor:
    """1 where a sub-score, rounded, is the known one, rounded; 0 elsewhere and where it is NaN.

    >>> binary_accuracy(torch.tensor([2.4, 1.0, float("nan")]), torch.tensor([2.0, 2.0, 0.0]))
    tensor([1., 0., 0.])
    """
    return (round_half_up(values) == round_half_up(target)).to(values.dtype)


def round_half_up(values: Tensor) -> Tensor:
    """The nearest whole number, halves upwards; NaN stays.

    >>> rounded(torch.tensor([0.4, 0.5, 1.5]))
    tensor([0., 1., 2.])
    """
    return (values + 0.5).floor()


def majority_mask(values: Tensor) -> Tensor:
    """Which completions of a prompt give its most frequent answer.

    The answer is the vector of rounded sub-scores. Of answers that are equally frequent, the one nearest to the mean
    of the group's vectors is taken, and of those that are equally near, the one with the fewer errors in the first
    criterion where they differ. A completion of which a sub-score cannot be read does not vote.

    Args:
        values: (B, G, N) sub-scores, NaN where unreadable.

    Returns:
        (B, G) bool; nothing in a group without a vote.

    >>> majority(torch.tensor([[[1.0], [2.0], [1.2]], [[0.0], [1.0], [3.0]]]))
    tensor([[ True, False,  True],
            [False,  True, False]])
    """
    answers = round_half_up(values)
    votes = answers.isfinite().all(-1)  # (B, G)
    answers = answers.masked_fill(~votes.unsqueeze(-1), 0.0)
    same = (answers.unsqueeze(2) == answers.unsqueeze(1)).all(-1)  # (B, G, G)
    same = same & votes.unsqueeze(1) & votes.unsqueeze(2)
    frequency = same.sum(2)
    # From the mean, times the number of votes: whole numbers, so that rounding breaks no tie.
    apart = answers * votes.sum(1)[:, None, None] - answers.sum(1, keepdim=True)
    distance = apart.double().square().sum(-1).masked_fill(~votes, torch.inf)
    distance = distance.masked_fill(frequency < frequency.amax(1, keepdim=True), torch.inf)
    nearest = distance == distance.amin(1, keepdim=True)
    rank = torch.unique(answers.flatten(0, 1), dim=0, return_inverse=True)[1].view_as(votes)  # lexicographic
    chosen = rank.masked_fill(~nearest, answers.numel() + 1).argmin(1)
    return same.gather(1, chosen[:, None, None].expand(-1, 1, same.shape[2])).squeeze(1)


def mgas_scale(
    psi: Tensor, beta: float, c: float, min_scale: float = 0.8, max_scale: float = 1.2, as_published: bool = False
) -> Tensor:
    """By how much an advantage is scaled: s(ψ) = φ⁻ + (φ⁺ - φ⁻) / (1 + exp(β (ψ - c))) (RadReason, Eq. 13).

    ψ is γ for a correct completion and 1 - γ for an incorrect one, γ being the accuracy of the majority's answer. So
    a right answer where most are wrong, and a wrong one where most are right, count most.

    Args:
        psi: ψ in [0, 1].
        beta: β, how sharply the scale falls.
        c: Where it is half way.
        low: φ⁻, the least scale.
        high: φ⁺, the largest.
        printed: φ⁻ + (φ⁺ - φ⁻) (1 + ψ - c)^(-β) instead, as the equation is printed. It exceeds φ⁺ below ψ = c, which
            the text excludes; it is cut off there.

    >>> majority_scale(torch.tensor([0.0, 0.5, 1.0]), beta=10, c=0.5)
    tensor([1.1973, 1.0000, 0.8027])
    >>> majority_scale(torch.tensor([0.0, 0.5, 1.0]), beta=10, c=0.5, printed=True)
    tensor([1.2000, 1.2000, 0.8069])
    """
    share = (1 + psi - c).pow(-beta) if as_published else (-beta * (psi - c)).sigmoid()
    return (min_scale + (max_scale - min_scale) * share).clamp(min_scale, max_scale)
