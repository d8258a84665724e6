"""RaTEScore: entities of two reports, matched by their embeddings and weighed by their types."""

from radreward.affinity.matching import EntitySets, Matches, TypeSums, match
from radreward.affinity.similarity import (
    Explained,
    affinity_score,
    direction_scores,
    explain,
    losses_by_type,
    penalised,
)
from radreward.affinity.weights import PRESETS, AffinityWeights

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
