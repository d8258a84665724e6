"""Agreement of two raters on classes beyond chance: Cohen's κ, and matrices over many raters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from scipy import stats
from torch import Tensor
from torchmetrics import Metric

KappaWeights = Literal["linear", "quadratic"] | None


def confusion_matrix(preds: Tensor, target: Tensor, classes: Sequence[float]) -> Tensor:
    """How often one rater's class meets the other's.

    Args:
        preds: (n,) classes given by one rater.
        target: (n,) classes given by the other.
        classes: The K classes in order.

    Returns:
        (K, K) int64; rows are the target's classes, columns the prediction's.

    Raises:
        ValueError: If a class is there twice, a value is none of them, or the shapes are not (n,) both.

    >>> class_counts(torch.tensor([1.0, 0.5, 0.0]), torch.tensor([1.0, 1.0, 0.0]), (0.0, 0.5, 1.0))
    tensor([[1, 0, 0],
            [0, 0, 0],
            [0, 1, 1]])
    """
    if len(set(classes)) < len(classes) or not classes:
        raise ValueError(f"Expected `classes` to be different from each other but got {list(classes)}.")
    if preds.ndim != 1 or preds.shape != target.shape:
        raise ValueError(f"Expected (n,) classes of two raters but got {tuple(preds.shape)} and {tuple(target.shape)}.")
    order = torch.tensor(classes, dtype=torch.float64, device=preds.device)
    places = []
    for values in (target, preds):
        equal = values.detach().double()[:, None] == order  # (n, K)
        if not bool(equal.any(1).all()):
            wrong = values[~equal.any(1)][0].item()
            raise ValueError(f"Expected values of {list(classes)} but got {wrong:g}.")
        places.append(equal.double().argmax(1))
    count = len(classes)
    return torch.bincount(places[0] * count + places[1], minlength=count * count).reshape(count, count)


def cohen_kappa(counts: Tensor, weights: KappaWeights = None) -> Tensor:
    """Cohen's κ of a table of two raters: 1 - Σ w·observed / Σ w·expected, with the disagreements w of two classes.

    w is 0 for the same class and, for classes i and j, 1 (plain), ``|i - j|`` (linear) or (i - j)² (quadratic), by
    their places in the order (Cohen, 1960 and 1968). Expected is what raters of the same margins would give by chance.

    Args:
        counts: (K, K), rows of one rater, columns of the other.
        weights: How disagreements weigh.

    Returns:
        () float64, at most 1; NaN where both raters only ever give the same one class, or the table is empty.

    Raises:
        ValueError: If the table is not square, or there are no such weights.

    >>> cohen_kappa(torch.tensor([[20, 5], [10, 15]]))
    tensor(0.4000, dtype=torch.float64)
    """
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError(f"Expected a (K, K) table of counts but got {tuple(counts.shape)}.")
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"Expected `weights` to be linear, quadratic or None but got {weights!r}.")
    table = counts.double()
    place = torch.arange(len(table), dtype=torch.float64, device=table.device)
    distance = (place[:, None] - place).abs()
    disagreement = {None: distance.sign(), "linear": distance, "quadratic": distance**2}[weights]
    expected = table.sum(1)[:, None] * table.sum(0) / table.sum()
    return 1 - (disagreement * table).sum() / (disagreement * expected).sum()


class CohenKappa(Metric):
    """Cohen's κ of two raters' classes, such as the scores of sentences; see `cohen_kappa`.

    Args:
        classes: What a rater can give, in order; by default the scores of sentences (Zhu et al., 2024).
        weights: How disagreements weigh.
        kwargs: As in `torchmetrics.Metric`.

    Raises:
        ValueError: If a class is there twice, or there are no such weights.

    >>> metric = CohenKappa(weights="linear")
    >>> metric.update(torch.tensor([1.0, 0.5, 0.0, -1.0]), torch.tensor([1.0, 1.0, 0.0, -1.0]))
    >>> metric.compute()
    tensor(0.8182, dtype=torch.float64)
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True
    counts: Tensor

    def __init__(
        self, classes: Sequence[float] = (-1.0, 0.0, 0.5, 1.0), weights: KappaWeights = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        empty = confusion_matrix(torch.zeros(0), torch.zeros(0), classes)
        cohen_kappa(empty, weights)
        self.classes = tuple(classes)
        self.weights: KappaWeights = weights
        self.add_state("counts", empty, dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch: (n,) classes of each rater."""
        self.counts = self.counts + confusion_matrix(preds, target, self.classes)

    def compute(self) -> Tensor:
        """() float64; NaN where it is not defined."""
        return cohen_kappa(self.counts, self.weights)


def kappa_matrix(ratings: Tensor, classes: Sequence[float], weights: KappaWeights = None) -> tuple[Tensor, Tensor]:
    """Cohen's κ of every two raters (Zhu et al., 2024, Fig. 3).

    Args:
        ratings: (R, n) classes given by R raters, NaN where one gave none: every two raters are compared where both
            did.
        classes: The classes in order.
        weights: How disagreements weigh.

    Returns:
        (R, R) float64 κ, and (R, R) int64 how many ratings it is of.

    >>> kappa, count = kappa_matrix(torch.tensor([[1.0, 0.0, 1.0, torch.nan], [1.0, 0.0, 0.0, 1.0]]), (0.0, 1.0))
    >>> round(kappa[0, 1].item(), 2), count[0, 1].item()
    (0.4, 3)
    """
    _check(ratings)
    raters = len(ratings)
    kappa = torch.full((raters, raters), torch.nan, dtype=torch.float64)
    count = torch.zeros(raters, raters, dtype=torch.int64)
    for one in range(raters):
        for other in range(raters):
            both = ~(ratings[one].isnan() | ratings[other].isnan())
            kappa[one, other] = cohen_kappa(
                confusion_matrix(ratings[one][both], ratings[other][both], classes), weights
            )
            count[one, other] = int(both.sum())
    return kappa, count


def tau_matrix(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Kendall's τ-b of every two scores of the same reports, with p values (Zhu et al., 2024, Fig. 2).

    Args:
        scores: (R, n), NaN where a report has no score: every two are compared where both have one.

    Returns:
        (R, R) float64 τ-b and (R, R) float64 p of the hypothesis that it is 0; NaN where a side is constant.

    >>> tau, p = tau_matrix(torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]]))
    >>> round(tau[0, 1].item(), 4), round(p[0, 1].item(), 4)
    (0.6667, 0.3333)
    """
    _check(scores)
    size = len(scores)
    tau = torch.full((size, size), torch.nan, dtype=torch.float64)
    p = torch.full((size, size), torch.nan, dtype=torch.float64)
    for one in range(size):
        for other in range(size):
            both = ~(scores[one].isnan() | scores[other].isnan())
            x, y = scores[one][both].double().numpy(), scores[other][both].double().numpy()
            if len(x) and (x != x[0]).any() and (y != y[0]).any():
                found = stats.kendalltau(x, y)
                tau[one, other], p[one, other] = float(found.statistic), float(found.pvalue)
    return tau, p


def _check(ratings: Tensor) -> None:
    if ratings.ndim != 2 or not ratings.is_floating_point():
        raise ValueError(f"Expected (R, n) ratings, floats, but got {tuple(ratings.shape)} of {ratings.dtype}.")
