"""Formulas of the regressions of finding weights, errors per statement and error counts."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.types import LocatedErrorTargets

_MIN_EVIDENCE = 1e-4
"""Evidence below which the loss of a statement with an error hardly grows."""


def finding_regression(predicted: Tensor, target: Tensor) -> Tensor:
    """Return the Huber losses (δ = 1) of the known finding weights.

    Most deviations e are below 1, where the loss is ½e², which is minimal at the expected weight.

    Args:
        predicted: (C, 2) matched and wrong weights.
        target: (C, 2); NaN if unknown.

    Returns:
        (n,) losses of the n known weights.

    >>> target = torch.tensor([[1.0, 0.0], [torch.nan, torch.nan]])
    >>> finding_regression(torch.zeros(2, 2), target)  # ½ · 1² and 0
    tensor([0.5000, 0.0000])
    """
    is_finite = target.isfinite()
    return F.huber_loss(predicted[is_finite], target[is_finite].to(predicted.dtype), reduction="none")


def located_error_regression(candidate: Tensor, reference: Tensor, targets: LocatedErrorTargets) -> Tensor:
    """Return the Poisson loss of each statement, the mean over kinds of errors of e - n·log(e + 1e-4).

    e is the summed evidence of the tokens of a statement, n the number of its errors of one kind, or its wrong weight.
    If the evidence of an error is near 0, the gradient does not vanish; that of a squared deviation would.

    Args:
        candidate: (C, S, K) evidence of the tokens of the candidates, of the first K kinds of
            `LocatedErrorTargets.amounts`.
        reference: (C, S', K) evidence of the tokens of their references.
        targets: The statements with their K kinds of errors; unknown amounts (NaN) add 0.

    Returns:
        (R,) losses of the statements.

    >>> amounts = torch.tensor([[1.0, torch.nan, 0.0], [0.0, torch.nan, 0.0], [0.0, torch.nan, 0.0]])
    >>> targets = LocatedErrorTargets(torch.tensor([[0, 1]]), torch.tensor([[2]]), amounts)
    >>> candidate, reference = torch.tensor([[[1.0], [0.5]]]), torch.tensor([[[0.0]]])
    >>> located_error_regression(candidate, reference, targets)  # 1 - log 1, 0.5 and 0
    tensor([0.9999, 0.5000, 0.0000])
    """
    num_statements, num_kinds = len(targets.amounts), candidate.shape[-1]
    evidence = candidate.new_zeros(num_statements + 1, num_kinds)  # the last row collects padding
    for values, statements in ((candidate, targets.candidate), (reference, targets.reference)):
        index = torch.where(statements < 0, num_statements, statements).flatten()
        evidence = evidence.index_add(0, index, values.flatten(0, 1))
    amounts = targets.amounts[:, :num_kinds].to(evidence.dtype)
    is_finite = amounts.isfinite()
    losses = F.poisson_nll_loss(
        evidence[:-1], torch.where(is_finite, amounts, 0.0), log_input=False, eps=_MIN_EVIDENCE, reduction="none"
    )
    return (losses * is_finite).mean(-1)


def poisson_nll(predicted: Tensor, errors: Tensor) -> Tensor:
    """Return the Poisson negative log-likelihood of error counts, less the constant log(errors!), elementwise.

    The loss is rate - errors·log(rate), with rate = softplus(predicted). The rate is positive for every prediction, and
    close to the prediction if this is large.

    Args:
        predicted: Predicted errors before the softplus, of any shape.
        errors: Target counts, >= 0.

    >>> poisson_nll(torch.tensor([0.0, -100.0]), torch.tensor([0.0, 1.0]))
    tensor([  0.6931, 100.0000])
    """
    rate = F.softplus(predicted)
    # Below -30, log(softplus(x)) equals x to the last digit; further down, softplus underflows.
    log_rate = torch.where(predicted < -30, predicted, F.softplus(predicted.clamp_min(-30)).log())
    return rate - errors * log_rate
