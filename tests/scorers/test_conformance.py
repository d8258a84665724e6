"""Conformance tests of all scorers of the package."""

from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.custom import CustomScorer
from radreward.testing import ScorerConformance


class TestER2Score(ScorerConformance):
    # The last is benign and weighs nothing: a learned quality moves a little both ways; docs/reliability.md has a rate.
    false_findings = ScorerConformance.false_findings[:-1]

    @staticmethod
    def scorer() -> Scorer:
        return load("er2score")


class TestRaTEScore(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("ratescore")


class TestSentenceEvaluation(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("sentence-eval")


class TestRadReasonByEvidence(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("radreason")


class TestGREENByEvidence(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("green")


class TestBLEU1(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("bleu-1")


class TestBLEU4(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("bleu-4")


class TestROUGE2(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("rouge-2")


class TestROUGEL(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("rouge-l")


class TestChrF(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("chrf")


class TestMETEOR(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("meteor")


class TestCIDEr(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("cider")


class TestEntityF1(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("entity-f1")


class TestCheXpertLabelF1(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("chexpert-f1")


class TestBERTScore(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("bertscore")


class TestCheXbertSimilarity(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("chexbert:embedded")


class TestCustom(ScorerConformance):
    can_save = False

    @staticmethod
    def scorer() -> Scorer:
        return CustomScorer(lambda reference, candidate: len(set(reference.split()) & set(candidate.split())))
