"""How far numbers that a model stated agree with those that are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.metrics.functional import count_concordant_pairs, kendall_tau_b, spearman
from radreward.modules.agreement_metrics import ScoredCandidates
from radreward.modules.base import MetricTable
from radreward.modules.export import write_predictions


class PredictedCounts(NamedTuple):
    """Numbers that a model stated about n validated candidates."""

    counts: Tensor
    """(n, N), NaN where nothing could be read."""
    target: Tensor
    """(n, N) as known."""
    group_ids: tuple[str, ...]
    """(n,) of their groups."""

    @property
    def group(self) -> Tensor:
        """(n,) int64: a number for each id.

        >>> Stated(torch.zeros(3, 1), torch.zeros(3, 1), ("b", "b", "a")).group
        tensor([0, 0, 1])
        """
        numbers: dict[str, int] = {}
        return torch.tensor([numbers.setdefault(name, len(numbers)) for name in self.group_ids])

    def write(self, path: Path, criteria: Criteria) -> None:
        """All of it, see `write_judged`; the reward of a criterion is the quality that its number stands for."""
        rewards = criteria.quality(self.counts) + 0.0  # -0 is 0
        write_predictions(
            path, criteria, ScoredCandidates(rewards, self.target, self.group), tuple(dict.fromkeys(self.group_ids))
        )


def concatenate_counts(parts: Sequence[PredictedCounts]) -> PredictedCounts:
    """All of several parts, one behind the other."""
    values, target = torch.cat([part.counts for part in parts]), torch.cat([part.target for part in parts])
    return PredictedCounts(values, target, tuple(name for part in parts for name in part.group_ids))


def predicted_count_agreement(criteria: Criteria, predicted: PredictedCounts) -> MetricTable:
    """Rank correlation, pairs ordered right, absolute error and share of exact numbers, by criterion and in total.

    A number that is not there (NaN) is not exact and orders no pair right; correlation and error are of the others.
    The total is the weighted sum of the criteria, there where all are; its accuracy is the mean over the criteria.

    Args:
        criteria: N criteria.
        stated: By these criteria.

    Returns:
        By criterion and "total": tau_b, spearman, pair_accuracy, count_mae, accuracy and read, the share that is there;
        None where a measure is not defined.

    >>> from radreward.criteria import Criterion
    >>> one = Criteria("one", [Criterion("omission", "Left out.")])
    >>> values, known = torch.tensor([[0.0], [2.0], [torch.nan]]), torch.tensor([[0.0], [1.0], [1.0]])
    >>> agreement_of_values(one, Stated(values, known, ("a", "a", "a")))["total"]["pair_accuracy"]
    0.5
    """
    values, target, group = predicted.counts, predicted.target, predicted.group
    exact = (values.round() == target).float()
    columns = {tag: (values[:, j], target[:, j], exact[:, j]) for j, tag in enumerate(criteria.tags)}
    totals = [criteria.total_quality(criteria.quality(part)) for part in (values, target)]
    columns["total"] = (totals[0], totals[1], exact.mean(1))
    return {name: _count_metrics(*parts, group) for name, parts in columns.items()}


def _count_metrics(values: Tensor, target: Tensor, exact: Tensor, group: Tensor) -> dict[str, float | None]:
    there = ~values.isnan()
    kept, known = values[there], target[there]
    right, pairs = count_concordant_pairs(values.unsqueeze(1), target.unsqueeze(1), group)
    measures = {
        "tau_b": kendall_tau_b(kept, known).item(),
        "spearman": spearman(kept, known).item(),
        "pair_accuracy": (right / pairs).item(),
        "count_mae": (kept - known).abs().mean().item(),
        "accuracy": exact.mean().item(),
        "read": there.float().mean().item(),
    }
    return {name: None if math.isnan(value) else round(value, 6) for name, value in measures.items()}
