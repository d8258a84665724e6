"""RaTEScore: entities of two reports, matched by their embeddings and weighed by their types."""

from radreward.systems.ratescore.affinity_matrix import PRESETS, AffinityWeights
from radreward.systems.ratescore.functional import (
    Explained,
    affinity_score,
    direction_scores,
    explain,
    losses_by_type,
    penalised,
)
from radreward.systems.ratescore.matching import EntitySets, Matches, TypeSums, match

__all__ = [
    "PRESETS",
    "AffinityWeights",
    "EntitySets",
    "Explained",
    "Matches",
    "TypeSums",
    "affinity_score",
    "direction_scores",
    "explain",
    "losses_by_type",
    "match",
    "penalised",
]
