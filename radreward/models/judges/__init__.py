"""Judges of pairs of reports, sentence by sentence."""

from radreward.models.judges.base import SHARED, SentenceJudge, average, nearest_score, shares, tally
from radreward.models.judges.chat import ChatJudge
from radreward.models.judges.relation import RelationJudge

__all__ = [
    "SHARED",
    "ChatJudge",
    "RelationJudge",
    "SentenceJudge",
    "average",
    "nearest_score",
    "shares",
    "tally",
]
