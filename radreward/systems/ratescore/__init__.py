"""RaTEScore: entities of two reports, matched by their embeddings and weighed by their types."""

from radreward.systems.ratescore.affinity_matrix import PRESETS, AffinityMatrix
from radreward.systems.ratescore.functional import (
    EntityContributions,
    entity_contributions,
    penalty_mask,
    precision_recall,
    ratescore,
    score_loss_by_type,
)
from radreward.systems.ratescore.matching import Matches, PackedEntities, TypePairSums, match_entities

__all__ = [
    "PRESETS",
    "AffinityMatrix",
    "PackedEntities",
    "EntityContributions",
    "Matches",
    "TypePairSums",
    "ratescore",
    "precision_recall",
    "entity_contributions",
    "score_loss_by_type",
    "match_entities",
    "penalty_mask",
]
