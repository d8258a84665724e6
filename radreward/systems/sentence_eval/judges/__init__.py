"""Judges of pairs of reports, sentence by sentence."""

from radreward.systems.sentence_eval.judges.base import SHARED, SentenceJudge, average, nearest_score, shares, tally
from radreward.systems.sentence_eval.judges.chat_judge import ChatJudge
from radreward.systems.sentence_eval.judges.relation_judge import RelationJudge
from radreward.systems.sentence_eval.score_features import FeatureSet, feature_names, feature_values

__all__ = [
    "SHARED",
    "ChatJudge",
    "FeatureSet",
    "RelationJudge",
    "SentenceJudge",
    "average",
    "feature_names",
    "feature_values",
    "nearest_score",
    "shares",
    "tally",
]
