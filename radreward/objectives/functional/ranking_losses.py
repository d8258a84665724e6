"""Formulas of the objectives on rewards as pure functions: P pairs, C candidates, G groups, N criteria."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.criteria import finding_quality


def mre_criterion_loss(difference: Tensor, margin: Tensor, c: float = 0.01) -> Tensor:
    r"""Return the criterion term of Margin Reward Enforcement (ER²Score, Eq. 1) per pair and criterion.

    With d the reward of the accepted report minus that of the rejected one, m the margin and t = sign(m):
    ReLU(-t·d + t·m) if m is not 0, else ReLU(\|d\| - c).

    Args:
        difference: (P, N) reward differences d.
        margin: (P, N) differences m of the target rewards, of any sign.
        c: Largest reward difference without loss if the margin is 0.

    Returns:
        (P, N), in units of target rewards.

    >>> mre_criterion_loss(torch.tensor([[0.5, 0.5, 0.5]]), torch.tensor([[2.0, -1.0, 0.0]]))
    tensor([[1.5000, 1.5000, 0.4900]])
    """
    return torch.where(margin == 0, difference.abs() - c, margin.sign() * (margin - difference)).relu()


def mre_total_loss(difference: Tensor, margin: Tensor) -> Tensor:
    """Return the total term of Margin Reward Enforcement (ER²Score, Eq. 1): ReLU(-Σ_j d_j + Σ_j m_j).

    Args:
        difference: (P, N) reward differences d.
        margin: (P, N) differences m of the target rewards.

    Returns:
        (P,), in units of target rewards.

    >>> mre_total_loss(torch.tensor([[0.5, 0.5]]), torch.tensor([[2.0, 1.0]]))
    tensor([2.])
    """
    return (margin.sum(-1) - difference.sum(-1)).relu()


def bradley_terry(difference: Tensor, preference: Tensor, margin: Tensor | float = 0.0) -> Tensor:
    """Return the negative log-likelihood of a preference under Bradley and Terry (1952), elementwise.

    -log σ(t·(d - m)) with t the preference, 1 or -1; a tie (t = 0) counts as half a preference each way,
    -½ log σ(d) - ½ log σ(-d), which is minimal at d = 0.

    Args:
        difference: Reward differences d, of any shape.
        preference: Sign t: 1 if the first report is better, -1 if the second is, 0 for a tie.
        margin: Signed margin m by which the better report has to lead; 0 at a tie.

    >>> bradley_terry(torch.tensor([0.0, 2.0]), torch.tensor([1.0, -1.0]))
    tensor([0.6931, 2.1269])
    """
    return F.binary_cross_entropy_with_logits(difference - margin, (preference + 1) / 2, reduction="none")


def plackett_luce(scores: Tensor, targets: Tensor, group: Tensor) -> Tensor:
    """Return the negative log-likelihood of each group's ranking under Plackett and Luce, per column.

    Σ_i (log Σ_{k: q_k <= q_i} exp(s_k) - s_i) over the candidates i of a group, with k in the same group: each
    candidate is chosen among those that are not better. Candidates with equal targets compete with each other too
    (Breslow's treatment of ties), so that the order within a tie carries no gradient and their scores are pulled
    together.

    Args:
        scores: (C, M) scores s; each column is a separate ranking.
        targets: (C, M) target rewards q, higher is better.
        group: (C,) reference index.

    Returns:
        (G, M), by ascending group index.

    >>> s, q = torch.tensor([[1.0], [0.0]]), torch.tensor([[2.0], [1.0]])
    >>> plackett_luce(s, q, torch.tensor([0, 0]))
    tensor([[0.3133]])
    """
    groups, index = torch.unique(group, return_inverse=True)
    same_group = (index[:, None] == index[None, :])[..., None]  # (C, C, 1)
    eligible = same_group & (targets[None, :] <= targets[:, None])  # (C, C, M): k is a competitor of i
    log_total = scores[None].masked_fill(~eligible, float("-inf")).logsumexp(1)  # (C, M)
    return scores.new_zeros(len(groups), scores.shape[1]).index_add(0, index, log_total - scores)


def quality_order(predicted: Tensor, target: Tensor, group: Tensor) -> Tensor:
    """Return the margin loss of each pair of candidates of one reference: ReLU(d - (q̂_i - q̂_j)).

    d = q_i - q_j > 0 is the true difference of `finding_quality`. Regression alone does not ensure that a partly
    correct finding gets a higher quality than a missed one, because their weights hardly differ.

    Args:
        predicted: (C, 2) matched and wrong weights.
        target: (C, 2); candidates with unknown weights (NaN) form no pair.
        group: (C,) reference of each candidate.

    Returns:
        (n,) losses of the n pairs with d > 0.

    >>> target = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # qualities 1 and 0.2
    >>> quality_order(torch.ones(2, 2), target, torch.tensor([0, 0]))
    tensor([0.8000])
    """
    is_finite = target.isfinite().all(1)
    target = torch.where(is_finite[:, None], target, 0.0).to(predicted.dtype)
    predicted = predicted.clamp_min(0.0)
    quality = finding_quality(target[:, 0], target[:, 1])
    predicted_quality = finding_quality(predicted[:, 0], predicted[:, 1])
    margin = quality[:, None] - quality
    counted = (group[:, None] == group) & is_finite[:, None] & is_finite & (margin > 0)
    return F.relu(margin - (predicted_quality[:, None] - predicted_quality))[counted]


def pairwise_order_labels(difference: Tensor, margin: Tensor) -> tuple[Tensor, Tensor]:
    """Return predicted and actual labels "the first report is better" per criterion, for an F1 of the order.

    Every pair appears in both orders, so that neither is favored. A label is actual if m > 0 and predicted if d > 0; a
    criterion with m = 0 is negative in both. A correct order gives a true positive, a wrong order a false positive and
    a false negative, equal rewards a false negative. F1 is then close to the fraction of pairs in correct order, and it
    does not depend on the scale of the rewards, which preference objectives leave free.

    Args:
        difference: (P, N) reward differences d.
        margin: (P, N) differences m of the target rewards.

    Returns:
        Predicted and actual labels, (2P, N) bool each.

    >>> pairwise_order_labels(torch.tensor([[1.0, -1.0]]), torch.tensor([[1.0, 0.0]]))
    (tensor([[ True, False],
            [False, False]]), tensor([[ True, False],
            [False, False]]))
    """
    difference, margin = torch.cat([difference, -difference]), torch.cat([margin, -margin])
    return (difference > 0) & (margin != 0), margin > 0
