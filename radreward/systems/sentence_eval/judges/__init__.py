"""Judges of report pairs, sentence by sentence."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.sentence_eval.judges.base import SentenceJudge
    from radreward.systems.sentence_eval.judges.chat_judge import ChatJudge
    from radreward.systems.sentence_eval.judges.relation_judge import RelationJudge

__all__ = ["ChatJudge", "RelationJudge", "SentenceJudge"]

__getattr__ = lazy_exports(__name__)
