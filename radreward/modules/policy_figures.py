"""How far numbers that a model stated agree with those that are known."""

from __future__ import annotations

import math

from torch import Tensor

from radreward.criteria import Criteria
from radreward.metrics.functional import kendall_tau_b, spearman


def agreement_of_values(criteria: Criteria, values: Tensor, target: Tensor) -> dict[str, dict[str, float | None]]:
    """Rank correlation, absolute error and share of exact numbers, by criterion and in total.

    A number that is not there (NaN) is not exact; correlation and error are of the others. The total is the weighted
    sum of the criteria, there where all are; its accuracy is the mean over the criteria.

    Args:
        criteria: N criteria.
        values: (n, N) as stated, NaN where nothing could be read.
        target: (n, N) as known.

    Returns:
        By criterion and "total": tau_b, spearman, mae, accuracy and read, the share that is there; None where a
        measure is not defined.

    >>> import torch
    >>> from radreward.criteria import Criterion
    >>> one = Criteria("one", [Criterion("omission", "Left out.")])
    >>> stated, known = torch.tensor([[0.0], [2.0], [torch.nan]]), torch.tensor([[0.0], [1.0], [1.0]])
    >>> agreement_of_values(one, stated, known)["total"]
    {'tau_b': 1.0, 'spearman': 1.0, 'mae': 0.5, 'accuracy': 0.333333, 'read': 0.666667}
    """
    exact = (values.round() == target).float()
    rows = {tag: _measures(values[:, j], target[:, j], exact[:, j]) for j, tag in enumerate(criteria.tags)}
    stated, known = (criteria.total(criteria.quality(part)) for part in (values, target))
    rows["total"] = _measures(stated, known, exact.mean(1))
    return rows


def _measures(values: Tensor, target: Tensor, exact: Tensor) -> dict[str, float | None]:
    there = ~values.isnan()
    kept, known = values[there], target[there]
    measures = {
        "tau_b": kendall_tau_b(kept, known).item(),
        "spearman": spearman(kept, known).item(),
        "mae": (kept - known).abs().mean().item(),
        "accuracy": exact.mean().item(),
        "read": there.float().mean().item(),
    }
    return {name: None if math.isnan(value) else round(value, 6) for name, value in measures.items()}
