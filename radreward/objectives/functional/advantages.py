"""Group advantages and their scales as pure functions: B prompts, G completions per prompt, N criteria."""

from __future__ import annotations

import torch
from torch import Tensor

from radreward.objectives.functional.accuracy_rewards import round_half_up


def centered_rewards(rewards: Tensor, baseline: Tensor) -> Tensor:
    """Return r - b; a group of equal rewards gets exactly 0, so that rounding gives it no gradient.

    Args:
        rewards: (B, G) with G >= 2.
        baseline: b, (B, 1).

    Raises:
        ValueError: If G < 2: a single completion cannot be compared.

    >>> centered_rewards(torch.tensor([[0.0, 1.0, 5.0]]), torch.tensor([[2.0]]))
    tensor([[-2., -1.,  3.]])
    """
    if rewards.ndim != 2 or rewards.shape[1] < 2:
        raise ValueError(f"Expected rewards (B, G) with G >= 2 but got {tuple(rewards.shape)}.")
    equal = (rewards == rewards[:, :1]).all(1, keepdim=True)
    return (rewards - baseline).masked_fill(equal, 0.0)


def group_advantages(rewards: Tensor, epsilon: float = 1e-4, baseline: Tensor | None = None) -> Tensor:
    """Return (r - b) / (std r + ε) within each group (GRPO, Shao et al. 2024, section 4.1.2).

    std is the sample standard deviation (G - 1). A group of equal rewards gets exactly 0: it carries no gradient.

    Args:
        rewards: (B, G) with G >= 2.
        epsilon: ε, limits the advantages in groups of nearly equal rewards.
        baseline: b, (B, 1); defaults to the mean of each group.

    Returns:
        (B, G); with the default baseline, of mean 0 in each group.

    Raises:
        ValueError: If G < 2: a single completion cannot be compared.

    >>> group_advantages(torch.tensor([[0.0, 1.0, 2.0], [5.0, 5.0, 5.0]]))
    tensor([[-0.9999,  0.0000,  0.9999],
            [ 0.0000,  0.0000,  0.0000]])
    """
    centered = centered_rewards(rewards, rewards.mean(-1, keepdim=True) if baseline is None else baseline)
    return centered / (rewards.std(1, keepdim=True) + epsilon)


def majority_mask(values: Tensor) -> Tensor:
    """Return a mask of the completions that give the most frequent answer of their prompt.

    The answer is the vector of rounded counts. Ties are broken by distance to the group's mean vector, then by
    lexicographic order (fewer errors in the first criterion that differs). A completion with an unparsable count has
    no vote.

    Args:
        values: (B, G, N) counts; NaN if unparsable.

    Returns:
        (B, G) bool; all False in a group without votes.

    >>> majority_mask(torch.tensor([[[1.0], [2.0], [1.2]], [[0.0], [1.0], [3.0]]]))
    tensor([[ True, False,  True],
            [False,  True, False]])
    """
    answers = round_half_up(values)
    votes = answers.isfinite().all(-1)  # (B, G)
    answers = answers.masked_fill(~votes.unsqueeze(-1), 0.0)
    equal = (answers.unsqueeze(2) == answers.unsqueeze(1)).all(-1)  # (B, G, G)
    equal = equal & votes.unsqueeze(1) & votes.unsqueeze(2)
    frequency = equal.sum(2)
    # Deviation from the mean times the number of votes: integers, so that rounding cannot break ties.
    deviation = answers * votes.sum(1)[:, None, None] - answers.sum(1, keepdim=True)
    distance = deviation.double().square().sum(-1).masked_fill(~votes, torch.inf)
    distance = distance.masked_fill(frequency < frequency.amax(1, keepdim=True), torch.inf)
    nearest = distance == distance.amin(1, keepdim=True)
    rank = torch.unique(answers.flatten(0, 1), dim=0, return_inverse=True)[1].view_as(votes)  # lexicographic
    winner = rank.masked_fill(~nearest, answers.numel() + 1).argmin(1)
    return equal.gather(1, winner[:, None, None].expand(-1, 1, equal.shape[2])).squeeze(1)


def mgas_scale(
    psi: Tensor, beta: float, c: float, min_scale: float = 0.8, max_scale: float = 1.2, as_published: bool = False
) -> Tensor:
    """Return the advantage scale s(ψ) = φ⁻ + (φ⁺ - φ⁻) / (1 + exp(β (ψ - c))) (RadReason, Eq. 13).

    ψ is γ for a correct completion and 1 - γ for an incorrect one, with γ the accuracy of the majority answer.

    Args:
        psi: ψ in [0, 1].
        beta: Steepness (β).
        c: Midpoint.
        min_scale: Smallest scale (φ⁻).
        max_scale: Largest scale (φ⁺).
        as_published: Use the equation as printed, φ⁻ + (φ⁺ - φ⁻) (1 + ψ - c)^(-β). It exceeds φ⁺ below ψ = c, which
            contradicts the text of the paper, so it is clipped there.

    >>> mgas_scale(torch.tensor([0.0, 0.5, 1.0]), beta=10, c=0.5)
    tensor([1.1973, 1.0000, 0.8027])
    >>> mgas_scale(torch.tensor([0.0, 0.5, 1.0]), beta=10, c=0.5, as_published=True)
    tensor([1.2000, 1.2000, 0.8069])
    """
    fraction = (1 + psi - c).pow(-beta) if as_published else (-beta * (psi - c)).sigmoid()
    return (min_scale + (max_scale - min_scale) * fraction).clamp(min_scale, max_scale)


def difficulty_weight(
    accuracy: Tensor, min_weight: float = 0.4, max_weight: float = 1.5, midpoint: float = 0.75, steepness: float = 10.0
) -> Tensor:
    """Return w(ρ) = A + (B - A) / (1 + exp(k (ρ - ρ0))) (GRPO-LEAD, Zhang and Zuo 2025), which falls with ρ.

    Args:
        accuracy: ρ in [0, 1].
        min_weight: A, limit for easy prompts.
        max_weight: B, limit for hard prompts.
        midpoint: ρ0.
        steepness: k.

    >>> difficulty_weight(torch.tensor([0.0, 0.75, 1.0]))
    tensor([1.4994, 0.9500, 0.4834])
    """
    return min_weight + (max_weight - min_weight) * (-steepness * (accuracy - midpoint)).sigmoid()
