"""Regression of the weights of findings and of the errors by passage, and the order of qualities.

In distributed training a loss is the share of this rank: the mean over ranks is that over the candidates of all ranks.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.criteria import finding_quality
from radreward.distributed import mean_count_per_rank
from radreward.types import PassageTargets

MIN_EVIDENCE = 1e-4
"""Evidence below which the loss of a passage with an error hardly grows."""


def findings_regression_loss(predicted: Tensor, target: Tensor) -> Tensor:
    """Return the mean Huber loss (δ = 1) of the matched and wrong weights of findings.

    Weights differ by less than 1 mostly, where the loss is ½e² and its minimum the expected weight.

    Args:
        predicted: (C, 2).
        target: (C, 2); unknown rows (NaN) are left out, and without a known one the loss is 0.

    >>> target = torch.tensor([[1.0, 0.0], [torch.nan, torch.nan]])
    >>> findings_regression_loss(torch.zeros(2, 2), target)  # (½ · 1² + 0) / 2
    tensor(0.2500)
    """
    known = target.isfinite()
    # Masked by a product, so that every parameter has a gradient: DDP waits for all of them.
    losses = F.huber_loss(predicted, torch.where(known, target, predicted.detach()), reduction="none") * known
    return losses.sum() / mean_count_per_rank(known.sum(), predicted.device)


def quality_order_loss(predicted: Tensor, target: Tensor, group: Tensor) -> Tensor:
    """Return the mean margin loss of the qualities of candidates of one reference: ReLU(d - (q̂_i - q̂_j)).

    d = q_i - q_j > 0 is the true difference of `finding_quality`. Regression alone leaves to chance whether
    a finding that is partly right is better than one that is missed, where their weights hardly differ.

    Args:
        predicted: (C, 2) matched and wrong weights.
        target: (C, 2); pairs with an unknown row (NaN) are left out, and without a pair the loss is 0.
        group: (C,) reference of each candidate.

    >>> target = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # qualities 1 and 0.2
    >>> quality_order_loss(torch.ones(2, 2), target, torch.tensor([0, 0]))
    tensor(0.8000)
    """
    known = target.isfinite().all(1)
    target, predicted = torch.where(known[:, None], target, 0.0), predicted.clamp_min(0.0)
    quality = finding_quality(target[:, 0], target[:, 1])
    predicted_quality = finding_quality(predicted[:, 0], predicted[:, 1])
    margin = quality[:, None] - quality
    counted = (group[:, None] == group) & known[:, None] & known & (margin > 0)
    losses = F.relu(margin - (predicted_quality[:, None] - predicted_quality)) * counted
    return losses.sum() / mean_count_per_rank(counted.sum(), predicted.device)


def passage_regression_loss(candidate: Tensor, reference: Tensor, targets: PassageTargets) -> Tensor:
    """Return the Poisson loss of the amounts of passages: e - n·log(e + 1e-4), summed over passages.

    e is the evidence of the tokens of a passage, n the number of its errors of one kind, or the weight of what is
    wrong. The gradient does not vanish where the evidence of an error is near 0, as that of a squared deviation does.
    Mean over candidates and kinds.

    Args:
        candidate: (C, S, K) evidence of the tokens of the candidates, of the first K kinds of `PassageTargets.amounts`.
        reference: (C, S', K) evidence of the tokens of their references.
        targets: The passages; candidates without located errors are left out, and so are unknown amounts.

    >>> amounts = torch.tensor([[1.0, torch.nan, 0.0], [0.0, torch.nan, 0.0], [0.0, torch.nan, 0.0]])
    >>> passages = PassageTargets(torch.tensor([[0, 1]]), torch.tensor([[2]]), amounts)
    >>> candidate, reference = torch.tensor([[[1.0], [0.5]]]), torch.tensor([[[0.0]]])
    >>> passage_regression_loss(candidate, reference, passages)  # 1 - log 1 + 0.5 + 0
    tensor(1.4999)
    """
    num_passages, num_kinds = len(targets.amounts), candidate.shape[-1]
    evidence = candidate.new_zeros(num_passages + 1, num_kinds)
    for values, passages in ((candidate, targets.candidate), (reference, targets.reference)):
        index = torch.where(passages < 0, num_passages, passages).flatten()
        evidence = evidence.index_add(0, index, values.flatten(0, 1))
    amounts = targets.amounts[:, :num_kinds]
    known = amounts.isfinite()
    losses = F.poisson_nll_loss(
        evidence[:-1], torch.where(known, amounts, 0.0), log_input=False, eps=MIN_EVIDENCE, reduction="none"
    )
    num_candidates = mean_count_per_rank((targets.candidate >= 0).any(1).sum(), candidate.device)
    # Masked by a product, so that every parameter has a gradient: DDP waits for all of them.
    return (losses * known).sum() / (num_candidates * num_kinds) + 0.0 * evidence[-1].sum()
