"""The formulas of the objectives as pure functions of tensors: P pairs, C candidates, G groups, N criteria."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def mre_criterion_loss(difference: Tensor, margin: Tensor, c: float = 0.01) -> Tensor:
    r"""Individual term of Margin Reward Enforcement (ER²Score, Eq. 1), per pair and criterion.

    With d the reward of the accepted report minus that of the rejected one, m the margin and t = sign(m):
    ReLU(-t·d + t·m) where m is not 0, and ReLU(\|d\| - c) where it is.

    Args:
        difference: (P, N) differences of rewards d.
        margin: (P, N) differences of quality m, of any sign.
        c: How far apart the rewards may be where the two reports are equal.

    Returns:
        (P, N), in the unit of the quality.

    >>> margin_individual(torch.tensor([[0.5, 0.5, 0.5]]), torch.tensor([[2.0, -1.0, 0.0]]))
    tensor([[1.5000, 1.5000, 0.4900]])
    """
    return torch.where(margin == 0, difference.abs() - c, margin.sign() * (margin - difference)).relu()


def mre_total_loss(difference: Tensor, margin: Tensor) -> Tensor:
    """Total term of Margin Reward Enforcement (ER²Score, Eq. 1): ReLU(-Σ_j d_j + Σ_j m_j).

    Args:
        difference: (P, N) differences of rewards d.
        margin: (P, N) differences of quality m.

    Returns:
        (P,), in the unit of the quality.

    >>> margin_total(torch.tensor([[0.5, 0.5]]), torch.tensor([[2.0, 1.0]]))
    tensor([2.])
    """
    return (margin.sum(-1) - difference.sum(-1)).relu()


def bradley_terry(difference: Tensor, preference: Tensor, margin: Tensor | float = 0.0) -> Tensor:
    """Negative log likelihood of a preference under Bradley and Terry (1952), elementwise.

    -log σ(t·(d - m)) with t the preference, 1 or -1; a tie (t = 0) counts as half a preference each way,
    -½ log σ(d) - ½ log σ(-d), which is least at d = 0.

    Args:
        difference: Differences of rewards d, of any shape.
        preference: The sign t: 1 where the first is better, -1 where the second is, 0 where they are equal.
        margin: Signed margin m by which the better one has to lead; 0 at a tie.

    >>> bradley_terry(torch.tensor([0.0, 2.0]), torch.tensor([1.0, -1.0]))
    tensor([0.6931, 2.1269])
    """
    return F.binary_cross_entropy_with_logits(difference - margin, (preference + 1) / 2, reduction="none")


def plackett_luce(scores: Tensor, quality: Tensor, group: Tensor) -> Tensor:
    """Negative log likelihood of each group's ranking under Plackett and Luce, per column.

    Σ_i (log Σ_{k: q_k <= q_i} exp(s_k) - s_i) over the candidates i of a group, k in the same group: going down
    the ranking, each candidate is chosen among those that are not better than it. Candidates of equal quality
    are chosen among each other too (Breslow's treatment of ties), so that the order within a tie carries no
    gradient and their scores are drawn together.

    Args:
        scores: (C, M) rewards s; each column is a ranking of its own.
        quality: (C, M) quality q, higher is better.
        group: (C,) which reference.

    Returns:
        (G, M), the groups in ascending order of their number.

    >>> s, q = torch.tensor([[1.0], [0.0]]), torch.tensor([[2.0], [1.0]])
    >>> plackett_luce(s, q, torch.tensor([0, 0]))
    tensor([[0.3133]])
    """
    numbers, index = torch.unique(group, return_inverse=True)
    same = (index[:, None] == index[None, :])[..., None]  # (C, C, 1)
    eligible = same & (quality[None, :] <= quality[:, None])  # (C, C, M): may k be chosen where i was
    log_total = scores[None].masked_fill(~eligible, float("-inf")).logsumexp(1)  # (C, M)
    return scores.new_zeros(len(numbers), scores.shape[1]).index_add(0, index, log_total - scores)


def poisson_nll(predicted: Tensor, errors: Tensor) -> Tensor:
    """Poisson negative log likelihood of error counts, less the constant log(errors!), elementwise.

    rate - errors·log(rate) with rate = softplus(predicted), which nears the prediction itself as it grows and
    stays above 0 where it is negative.

    Args:
        predicted: Predicted errors before the softplus, of any shape.
        errors: Errors counted, >= 0.

    >>> poisson_errors(torch.tensor([0.0, -100.0]), torch.tensor([0.0, 1.0]))
    tensor([  0.6931, 100.0000])
    """
    rate = F.softplus(predicted)
    # log(softplus(x)) is x to the last digit below -30, where softplus itself underflows later on.
    log_rate = torch.where(predicted < -30, predicted, F.softplus(predicted.clamp_min(-30)).log())
    return rate - errors * log_rate


def pairwise_order_labels(difference: Tensor, margin: Tensor) -> tuple[Tensor, Tensor]:
    """Which of two reports was predicted, and which is known, to be better by each criterion.

    Every pair is read both ways, so that neither order is the favoured one: "the first is better" is the positive
    class, known where m > 0 and predicted where d > 0. A criterion in which the two are equal is left out, being
    negative both times. Right order gives a true positive, wrong order a false positive and a false negative,
    equal rewards a false negative: F1 is then the share of pairs ordered right, nearly, and it does not depend on
    the scale of the rewards, which objectives on preferences leave free.

    Args:
        difference: (P, N) differences of rewards d.
        margin: (P, N) differences of quality m.

    Returns:
        Predicted and actual positives, (2P, N) bool each.

    >>> order_outcomes(torch.tensor([[1.0, -1.0]]), torch.tensor([[1.0, 0.0]]))
    (tensor([[ True, False],
            [False, False]]), tensor([[ True, False],
            [False, False]]))
    """
    difference, margin = torch.cat([difference, -difference]), torch.cat([margin, -margin])
    return (difference > 0) & (margin != 0), margin > 0
