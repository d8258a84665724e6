"""RaTEScore: entities of two reports, matched by their embeddings and weighed by their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.ratescore.affinity_matrix import PRESETS, AffinityMatrix
    from radreward.systems.ratescore.collator import EntityMatchCollator
    from radreward.systems.ratescore.encoder import EntityEncoder
    from radreward.systems.ratescore.functional import (
        EntityContributions,
        entity_contributions,
        penalty_mask,
        precision_recall,
        ratescore,
        score_loss_by_type,
    )
    from radreward.systems.ratescore.matching import Matches, PackedEntities, TypePairSums, match_entities
    from radreward.systems.ratescore.module import AffinityModule
    from radreward.systems.ratescore.scorer import EntityMatch, RaTEScore

__all__ = [
    "PRESETS",
    "AffinityMatrix",
    "AffinityModule",
    "EntityContributions",
    "EntityEncoder",
    "EntityMatch",
    "EntityMatchCollator",
    "Matches",
    "PackedEntities",
    "RaTEScore",
    "TypePairSums",
    "entity_contributions",
    "match_entities",
    "penalty_mask",
    "precision_recall",
    "ratescore",
    "score_loss_by_type",
]

__getattr__ = lazy_exports(__name__)
