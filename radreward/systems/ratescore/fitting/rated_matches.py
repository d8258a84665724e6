"""Rated pairs of reports: matches summed by types, with the quality that the score shall rank by."""

from __future__ import annotations

import math
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
    quality: Tensor
    """(n,) float64, higher is better."""
    group: Tensor
    """(n,) int64 index of the reference."""

    def select(self, rows: Tensor) -> RatedMatches:
        """Return some pairs: (k,) int64 or (n,) bool."""
        return RatedMatches(self.sums.select(rows), self.quality[rows], self.group[rows])

    def drop_undefined(self, min_references: int = 1) -> RatedMatches:
        """Return the pairs in which both reports have entities.

        Args:
            min_references: Minimum number of references of these pairs.

        Raises:
            InputError: If all pairs have the same quality, or there are too few references.
        """
        defined = self.select(self.sums.defined)
        values = len(torch.unique(defined.quality))
        if values < 2:
            raise InputError(
                f"Expected pairs of different quality to fit to, but of {len(self.quality)} pairs "
                f"{len(defined.quality)} have entities on both sides and {values} different values."
            )
        if (references := len(torch.unique(defined.group))) < min_references:
            raise InputError(
                f"Expected at least {min_references} references for {min_references} folds but got {references}."
            )
        return defined

    def folds(self, n_folds: int, seed: int) -> Tensor:
        """Return the (n,) int64 fold of each pair; folds have almost equally many references and share none."""
        _, index = torch.unique(self.group, return_inverse=True)
        n_references = int(index.max()) + 1
        order = torch.randperm(n_references, generator=torch.Generator().manual_seed(seed))
        fold = torch.empty(n_references, dtype=torch.int64)
        fold[order] = torch.arange(n_references) % n_folds
        return fold[index]

    def split(self, fraction: float, seed: int) -> tuple[RatedMatches, RatedMatches]:
        """Return two parts without common references; the second has about `fraction` of the references."""
        fold = self.folds(max(2, round(1 / fraction)), seed)
        return self.select(fold != 0), self.select(fold == 0)


def make_rated_matches(cosines: Tensor, counts: Tensor, quality: Tensor, group: Tensor) -> RatedMatches:
    """Return rated pairs on the CPU, from the fields of `TypePairSums` and `RatedMatches`."""
    return RatedMatches(TypePairSums(cosines.cpu(), counts.cpu()), quality.cpu().double(), group.cpu())


def concat_rated(parts: list[RatedMatches]) -> RatedMatches:
    """Concatenate batches; groups that start at 0 in each batch are renumbered."""
    renumbered, offset = [], 0
    for part in parts:
        restarts = offset and int(part.group.min()) == 0
        renumbered.append(part._replace(group=part.group + offset) if restarts else part)
        offset = int(renumbered[-1].group.max()) + 1
    columns = zip(*([*part.sums, part.quality, part.group] for part in renumbered), strict=True)
    return make_rated_matches(*(torch.cat(column) for column in columns))


def sample_ordered_pairs(quality: Tensor, max_pairs: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return indices (k,) of the better and of the worse element of pairs with different quality.

    Args:
        quality: (n,), higher is better.
        max_pairs: Sample about this number of pairs if there are more.
        seed: Seed of the sampling.
    """
    size = len(quality)
    if size * (size - 1) // 2 <= max_pairs:
        first, second = torch.triu_indices(size, size, 1)
    else:
        generator = torch.Generator().manual_seed(seed)
        first, second = torch.randint(size, (2, max_pairs), generator=generator)
    difference = quality[first] - quality[second]
    better, worse = torch.where(difference > 0, first, second), torch.where(difference > 0, second, first)
    return better[difference != 0], worse[difference != 0]


def tau_b_or_worst(scores: Tensor, quality: Tensor) -> float:
    """Return Kendall's τ-b, or -1 if all scores are equal, so that no ranking is never the best."""
    value = float(stats.kendalltau(scores.numpy(), quality.numpy()).statistic)
    return -1.0 if math.isnan(value) else value
