"""RaTEScore of matched entities by a 5 × 5 affinity W and a penalty p, as pure functions of tensors."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from radreward.systems.ratescore.matching import NUM_TYPES, Matches, TypePairSums

PenaltyRule = Literal["opposed", "mismatch"]


def penalty_mask(penalty_rule: PenaltyRule) -> Tensor:
    """(5, 5) bool, which types of entity and match are penalised.

    "mismatch": all that differ (RaTEScore, section 2.4). "opposed": the eight with one of Abnormality and Disease on
    one side and one of Non-Abnormality and Non-Disease on the other, as in the reference implementation, to which the
    published weights belong; Anatomy never is.

    Raises:
        ValueError: If there is no such rule.

    >>> int(penalised("opposed").sum()), int(penalised("mismatch").sum())
    (8, 20)
    """
    if penalty_rule == "mismatch":
        return ~torch.eye(NUM_TYPES, dtype=torch.bool)
    if penalty_rule == "opposed":
        sign = torch.tensor([1, 0, 1, -1, -1])  # of ENTITY_TYPES
        return sign[:, None] * sign == -1
    raise ValueError(f"Expected `rule` to be 'opposed' or 'mismatch' but got {penalty_rule!r}.")


def precision_recall(
    sums: TypePairSums, weight: Tensor, penalty: Tensor, penalty_rule: PenaltyRule = "opposed"
) -> Tensor:
    r"""Score of each direction: Σ W·cos·(p where penalised) / Σ W over the entities of one side.

    As in RaTEScore, section 2.4, with each direction's own side as the query. W is looked up at
    [type of the entity, type of its match] in both directions. The penalty is in the numerator only.

    Args:
        sums: Of n pairs.
        weight: (5, 5) W, >= 0.
        penalty: () p in [0, 1].
        rule: What is penalised, see `penalised`.

    Returns:
        (n, 2) float64, the reference's entities first; 0 where the weights of all its entities are 0.
    """
    weight, penalty = weight.double(), penalty.double()
    factor = torch.where(penalty_mask(penalty_rule).to(weight.device), penalty, 1.0)
    top = sums.cosine_sums.flatten(2) @ (weight * factor).flatten()
    bottom = sums.counts.flatten(2) @ weight.flatten()
    return torch.where(bottom > 0, top / torch.where(bottom > 0, bottom, 1.0), 0.0)


def ratescore(
    sums: TypePairSums,
    weight: Tensor,
    penalty: Tensor,
    penalty_rule: PenaltyRule = "opposed",
    undefined_score: float = math.nan,
) -> Tensor:
    """RaTEScore: the harmonic mean 2PR / (P + R) of both directions; differentiable in W and p.

    Args:
        sums: Of n pairs, see `Matches.sums`: matches do not depend on W and p, so that they are made once.
        weight: (5, 5) W, >= 0; only ratios matter.
        penalty: () p in [0, 1].
        rule: What is penalised, see `penalised`.
        undefined: Score of a pair of which one report has no entity; the reference implementation gives 0.5.

    Returns:
        (n,) float64, in [0, 1] where negative cosines were clamped; 0 where P + R is.

    >>> cosine, count = torch.zeros(2, 1, 2, 5, 5)
    >>> cosine[0, 0, [1, 3], [1, 0]] = cosine[0, 1, [1, 0], [1, 3]] = torch.tensor([1.0, 0.83])
    >>> count[cosine > 0] = 1
    >>> weight = torch.zeros(5, 5)
    >>> weight[1, 1], weight[3, 0], weight[0, 3] = 0.91, 0.94, 0.83
    >>> sums = TypeSums(cosine.double(), count.double())  # appendix A.1, which gives the mean as 0.676
    >>> direction_scores(sums, weight, torch.tensor(0.36))
    tensor([[0.6437, 0.6655]], dtype=torch.float64)
    >>> affinity_score(sums, weight, torch.tensor(0.36))
    tensor([0.6544], dtype=torch.float64)
    """
    first, second = precision_recall(sums, weight, penalty, penalty_rule).unbind(1)
    total = first + second
    score = torch.where(total != 0, 2 * first * second / torch.where(total != 0, total, 1.0), 0.0)
    return torch.where(sums.defined, score, undefined_score)


class EntityContributions(NamedTuple):
    """What each of the m entities does to the score of its pair."""

    weight: Tensor
    """(m,) float64: W of its type and that of its match."""
    penalty: Tensor
    """(m,) float64: p where it is penalised, else 1."""
    score_loss: Tensor
    """(m,) float64: what it takes off the score; those of a pair add up to 1 - score."""


def entity_contributions(
    matches: Matches, weight: Tensor, penalty: Tensor, penalty_rule: PenaltyRule = "opposed", clamp_cosines: bool = True
) -> EntityContributions:
    r"""Evidence: weight and penalty of each entity, and its share of what the pair's score lacks to 1.

    The harmonic mean is αP + βR with α = R / (P + R) and β = P / (P + R) (½ each where P + R = 0), and 1 - P is the sum
    of w(1 - f·cos) / Σw over the entities of that direction, with weight w and penalty f. So an entity takes
    α·w(1 - f·cos) / Σw off the score, or β· where it is the candidate's, and nothing is left over. Where all weights of
    a direction are 0, and its score too, its entities share the loss evenly.

    Args:
        matches: Of n pairs.
        weight: (5, 5) W, >= 0.
        penalty: () p in [0, 1].
        rule: What is penalised, see `penalised`.
        clamp: Whether negative cosines are taken as 0.
    """
    sums, weight, penalty = matches.type_pair_sums(clamp_cosines), weight.double(), penalty.double()
    scores = precision_recall(sums, weight, penalty, penalty_rule)  # (n, 2)
    total = scores.sum(1, keepdim=True)
    share = torch.where(total != 0, scores.flip(1) / torch.where(total != 0, total, 1.0), 0.5)  # (n, 2) α, β
    own = weight[matches.query_type, matches.match_type]
    factor = torch.where(penalty_mask(penalty_rule)[matches.query_type, matches.match_type], penalty, 1.0)
    at = matches.pair_index, matches.direction
    bottom = (sums.counts.flatten(2) @ weight.flatten())[at]
    cosine = matches.cosine.double()
    cosine = cosine.clamp_min(0) if clamp_cosines else cosine
    lost = own * (1 - factor * cosine) / torch.where(bottom > 0, bottom, 1.0)
    even = 1 / sums.counts.sum((2, 3))[at]
    return EntityContributions(own, factor, share[at] * torch.where(bottom > 0, lost, even))


def score_loss_by_type(matches: Matches, contributions: EntityContributions) -> Tensor:
    """(n, 5) float64: which type of entity takes how much off the score.

    An entity counts for its own type, whatever it matched. The five of a pair add up to 1 - score; NaN where a report
    has no entity.
    """
    cell = matches.pair_index * NUM_TYPES + matches.query_type
    losses = contributions.score_loss.new_zeros(matches.num_pairs * NUM_TYPES).index_add(
        0, cell, contributions.score_loss
    )
    matched = torch.zeros(matches.num_pairs, dtype=torch.bool, device=cell.device)
    matched[matches.pair_index] = True
    return torch.where(matched[:, None], losses.view(-1, NUM_TYPES), math.nan)
