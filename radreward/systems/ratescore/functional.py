"""RaTEScore of matched entities, given a 5 × 5 affinity matrix W and a penalty p: pure functions of tensors."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from radreward.systems.ratescore.matching import NUM_TYPES, Matches, TypePairSums

PenaltyRule = Literal["opposed", "mismatch"]


def penalty_mask(penalty_rule: PenaltyRule) -> Tensor:
    """Return the (5, 5) bool mask of penalized pairs of types (entity, match).

    "mismatch": all pairs of different types (RaTEScore, section 2.4). "opposed": the eight pairs of Abnormality or
    Disease with Non-Abnormality or Non-Disease, as in the reference implementation and for the published weights.

    Raises:
        ValueError: If the rule is unknown.

    >>> int(penalty_mask("opposed").sum()), int(penalty_mask("mismatch").sum())
    (8, 20)
    """
    if penalty_rule == "mismatch":
        return ~torch.eye(NUM_TYPES, dtype=torch.bool)
    if penalty_rule == "opposed":
        sign = torch.tensor([1, 0, 1, -1, -1])  # of ENTITY_TYPES
        return sign[:, None] * sign == -1
    raise ValueError(f"Expected `penalty_rule` to be 'opposed' or 'mismatch' but got {penalty_rule!r}.")


def precision_recall(
    sums: TypePairSums, weight: Tensor, penalty: Tensor, penalty_rule: PenaltyRule = "opposed"
) -> Tensor:
    r"""Return Σ W·cos·(p if penalized) / Σ W over the entities of the reference, and over those of the candidate.

    See section 2.4 of RaTEScore. Each entity of one report is compared with its match in the other report. W is indexed
    by [type of the entity, type of its match] in both directions. The penalty p is only in the numerator.

    Args:
        sums: Matches of n pairs, summed by types.
        weight: (5, 5) W, >= 0.
        penalty: () p in [0, 1].
        penalty_rule: Penalized pairs of types, see `penalty_mask`.

    Returns:
        (n, 2) float64: the score over the entities of the reference, then of the candidate. A score is 0 if all its
        weights are 0.
    """
    weight, penalty = weight.double(), penalty.double()
    factor = torch.where(penalty_mask(penalty_rule).to(weight.device), penalty, 1.0)
    numerator = sums.cosine_sums.flatten(2) @ (weight * factor).flatten()
    denominator = sums.counts.flatten(2) @ weight.flatten()
    return torch.where(denominator > 0, numerator / torch.where(denominator > 0, denominator, 1.0), 0.0)


def ratescore(
    sums: TypePairSums,
    weight: Tensor,
    penalty: Tensor,
    penalty_rule: PenaltyRule = "opposed",
    undefined_score: float = math.nan,
) -> Tensor:
    """Return RaTEScore, the harmonic mean 2PR / (P + R) of both directions; differentiable in W and p.

    Args:
        sums: Matches of n pairs, summed by types. The sums do not depend on W and p.
        weight: (5, 5) W, >= 0; only ratios matter.
        penalty: () p in [0, 1].
        penalty_rule: Penalized pairs of types, see `penalty_mask`.
        undefined_score: Score of a pair in which a report has no entity; 0.5 in the reference implementation.

    Returns:
        (n,) float64, in [0, 1] if negative cosines were clamped; 0 if P + R = 0.

    >>> cosine, count = torch.zeros(2, 1, 2, 5, 5)
    >>> cosine[0, 0, [1, 3], [1, 0]] = cosine[0, 1, [1, 0], [1, 3]] = torch.tensor([1.0, 0.83])
    >>> count[cosine > 0] = 1
    >>> weight = torch.zeros(5, 5)
    >>> weight[1, 1], weight[3, 0], weight[0, 3] = 0.91, 0.94, 0.83
    >>> sums = TypePairSums(cosine.double(), count.double())  # appendix A.1, which prints the mean as 0.676
    >>> precision_recall(sums, weight, torch.tensor(0.36))
    tensor([[0.6437, 0.6655]], dtype=torch.float64)
    >>> ratescore(sums, weight, torch.tensor(0.36))
    tensor([0.6544], dtype=torch.float64)
    """
    first, second = precision_recall(sums, weight, penalty, penalty_rule).unbind(1)
    total = first + second
    score = torch.where(total != 0, 2 * first * second / torch.where(total != 0, total, 1.0), 0.0)
    return torch.where(sums.defined, score, undefined_score)


class EntityContributions(NamedTuple):
    """Contribution of each of m entities to the score of its pair."""

    weight: Tensor
    """(m,) float64: W of its type and the type of its match."""
    penalty: Tensor
    """(m,) float64: p if penalized, else 1."""
    score_loss: Tensor
    """(m,) float64: reduction of the score by each match. The reductions of a pair sum to 1 - score."""


def entity_contributions(
    matches: Matches, weight: Tensor, penalty: Tensor, penalty_rule: PenaltyRule = "opposed", clamp_cosines: bool = True
) -> EntityContributions:
    r"""Return weight and penalty of each entity, and its share of 1 - score.

    The harmonic mean is αP + βR with α = R / (P + R) and β = P / (P + R) (½ each if P + R = 0), and 1 - P is the sum
    of w(1 - f·cos) / Σw over the entities of that direction, with weight w and penalty f. So an entity of the
    reference reduces the score by α·w(1 - f·cos) / Σw, and an entity of the candidate by β·w(1 - f·cos) / Σw. If all
    weights of a direction are 0, its entities share the loss evenly.

    Args:
        matches: Matches of n pairs.
        weight: (5, 5) W, >= 0.
        penalty: () p in [0, 1].
        penalty_rule: Penalized pairs of types, see `penalty_mask`.
        clamp_cosines: Replace negative cosines by 0.
    """
    sums, weight, penalty = matches.type_pair_sums(clamp_cosines), weight.double(), penalty.double()
    scores = precision_recall(sums, weight, penalty, penalty_rule)  # (n, 2)
    total = scores.sum(1, keepdim=True)
    share = torch.where(total != 0, scores.flip(1) / torch.where(total != 0, total, 1.0), 0.5)  # (n, 2) α, β
    own_weight = weight[matches.query_type, matches.match_type]
    factor = torch.where(penalty_mask(penalty_rule)[matches.query_type, matches.match_type], penalty, 1.0)
    index = matches.pair_index, matches.direction
    denominator = (sums.counts.flatten(2) @ weight.flatten())[index]
    cosine = matches.cosine.double()
    cosine = cosine.clamp_min(0) if clamp_cosines else cosine
    loss = own_weight * (1 - factor * cosine) / torch.where(denominator > 0, denominator, 1.0)
    even = 1 / sums.counts.sum((2, 3))[index]
    return EntityContributions(own_weight, factor, share[index] * torch.where(denominator > 0, loss, even))


def score_loss_by_type(matches: Matches, contributions: EntityContributions) -> Tensor:
    """Return the (n, 5) float64 score losses by type of the entity. A row sums to 1 - score.

    NaN if a report of the pair has no entity.
    """
    cell = matches.pair_index * NUM_TYPES + matches.query_type
    zeros = contributions.score_loss.new_zeros(matches.num_pairs * NUM_TYPES)
    losses = zeros.index_add(0, cell, contributions.score_loss)
    matched = torch.zeros(matches.num_pairs, dtype=torch.bool, device=cell.device)
    matched[matches.pair_index] = True
    return torch.where(matched[:, None], losses.view(-1, NUM_TYPES), math.nan)
