"""Judges of pairs of reports, sentence by sentence."""

from radreward.models.judges.base import SentenceJudge, average, nearest_score, tally
from radreward.models.judges.chat import ChatJudge

__all__ = ["ChatJudge", "SentenceJudge", "average", "nearest_score", "tally"]
