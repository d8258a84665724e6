"""Judges of pairs of reports, sentence by sentence."""

from radreward.systems.sentence_eval.judges.base import (
    SCORE_ORDER,
    SentenceJudge,
    average_judgements,
    count_statuses,
    round_to_score,
    score_fractions,
)
from radreward.systems.sentence_eval.judges.chat_judge import ChatJudge
from radreward.systems.sentence_eval.judges.relation_judge import RelationJudge
from radreward.systems.sentence_eval.score_features import FeatureSet, feature_names, feature_values

__all__ = [
    "SCORE_ORDER",
    "ChatJudge",
    "FeatureSet",
    "RelationJudge",
    "SentenceJudge",
    "average_judgements",
    "feature_names",
    "feature_values",
    "round_to_score",
    "score_fractions",
    "count_statuses",
]
