"""Judges of pairs of reports, sentence by sentence."""

from radreward.models.judges.base import SHARED, SentenceJudge, average, nearest_score, shares, tally
from radreward.models.judges.chat import ChatJudge
from radreward.models.judges.features import FeatureSet, feature_names, feature_values
from radreward.models.judges.relation import RelationJudge

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
