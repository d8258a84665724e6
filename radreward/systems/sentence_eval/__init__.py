"""Sentence evaluation (Zhu et al., 2024): judge each sentence of two reports, regress the overall score."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
    from radreward.systems.sentence_eval.judges.base import SentenceJudge
    from radreward.systems.sentence_eval.judges.chat_judge import ChatJudge
    from radreward.systems.sentence_eval.judges.relation_judge import RelationJudge
    from radreward.systems.sentence_eval.module import RelationModule
    from radreward.systems.sentence_eval.prompt import SentencePrompt
    from radreward.systems.sentence_eval.refinement import ChatRefiner, ReportRefiner, RuleRefiner
    from radreward.systems.sentence_eval.regressors.regressor import Regressor
    from radreward.systems.sentence_eval.scorer import JudgedSentence, SentenceScorer

__all__ = [
    "ChatJudge",
    "ChatRefiner",
    "JudgedSentence",
    "Regressor",
    "RelationJudge",
    "RelationModule",
    "ReportRefiner",
    "RuleRefiner",
    "SentenceJudge",
    "SentenceJudgement",
    "SentencePrompt",
    "SentenceScore",
    "SentenceScorer",
]

__getattr__ = lazy_exports(__name__)
