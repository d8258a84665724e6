"""Rated pairs of reports: matches summed by types, with the targets of the fit."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import NamedTuple

import torch
from scipy import stats
from torch import Tensor

from radreward.errors import InputError
from radreward.systems.ratescore.matching import TypePairSums


class RatedMatches(NamedTuple):
    """n rated pairs of reports."""

    sums: TypePairSums
    """Matches summed by types."""
    targets: Tensor
    """(n,) float64, higher is better."""
    group: Tensor
    """(n,) int64 index of the reference."""

    def select(self, rows: Tensor) -> RatedMatches:
        """Return the pairs at these rows, (k,) int64, or with True in this mask, (n,) bool."""
        return RatedMatches(self.sums.select(rows), self.targets[rows], self.group[rows])

    def drop_undefined(self, min_references: int = 1) -> RatedMatches:
        """Return the pairs in which both reports have entities.

        Raises:
            InputError: If these pairs have equal targets or fewer than `min_references` references.
        """
        defined = self.select(self.sums.defined)
        values = len(torch.unique(defined.targets))
        if values < 2:
            raise InputError(
                f"Expected pairs with different targets to fit to, but of {len(self.targets)} pairs "
                f"{len(defined.targets)} have entities on both sides and {values} different values."
            )
        if (references := len(torch.unique(defined.group))) < min_references:
            raise InputError(
                f"Expected at least {min_references} references for {min_references} folds but got {references}."
            )
        return defined

    def folds(self, n_folds: int, seed: int) -> Tensor:
        """Return the (n,) int64 fold of each pair.

        Folds share no references and have about equal numbers of references.
        """
        _, index = torch.unique(self.group, return_inverse=True)
        n_references = int(index.max()) + 1
        order = torch.randperm(n_references, generator=torch.Generator().manual_seed(seed))
        fold = torch.empty(n_references, dtype=torch.int64)
        fold[order] = torch.arange(n_references) % n_folds
        return fold[index]

    def split(self, fraction: float, seed: int) -> tuple[RatedMatches, RatedMatches]:
        """Return two parts without common references. The second has about `fraction` of the references."""
        fold = self.folds(max(2, round(1 / fraction)), seed)
        return self.select(fold != 0), self.select(fold == 0)


def make_rated_matches(cosines: Tensor, counts: Tensor, targets: Tensor, group: Tensor) -> RatedMatches:
    """Return rated pairs on the CPU, from the fields of `TypePairSums` and `RatedMatches`."""
    return RatedMatches(TypePairSums(cosines.cpu(), counts.cpu()), targets.cpu().double(), group.cpu())


def concat_rated(batches: list[RatedMatches]) -> RatedMatches:
    """Concatenate batches, which share no references, and renumber their groups."""
    sizes = [int(batch.group.max()) + 1 for batch in batches]
    groups = [batch.group + offset for batch, offset in zip(batches, accumulate(sizes, initial=0), strict=False)]
    sums = TypePairSums(*map(torch.cat, zip(*(batch.sums for batch in batches), strict=True)))
    return RatedMatches(sums, torch.cat([batch.targets for batch in batches]), torch.cat(groups))


def sample_ordered_pairs(targets: Tensor, max_pairs: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return (k,) indices of the better and of the worse element of pairs with different (n,) targets.

    If there are more than `max_pairs` pairs, a sample of this size is drawn. Pairs with equal targets are dropped.
    """
    size = len(targets)
    if size * (size - 1) // 2 <= max_pairs:
        first, second = torch.triu_indices(size, size, 1)
    else:
        generator = torch.Generator().manual_seed(seed)
        first, second = torch.randint(size, (2, max_pairs), generator=generator)
    difference = targets[first] - targets[second]
    better, worse = torch.where(difference > 0, first, second), torch.where(difference > 0, second, first)
    return better[difference != 0], worse[difference != 0]


def tau_b_or_worst(scores: Tensor, targets: Tensor) -> float:
    """Return Kendall's τ-b, or -1 if it is undefined because all scores are equal."""
    value = float(stats.kendalltau(scores.numpy(), targets.numpy()).statistic)
    return -1.0 if math.isnan(value) else value
