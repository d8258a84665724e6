"""Metrics of predicted against target quality, of error counts, entities and raters."""

from radreward.metrics.correlation import KendallTauB, RankCorrelation, SpearmanRho
from radreward.metrics.count_error import CountError
from radreward.metrics.kappa import cohen_kappa, confusion_matrix
from radreward.metrics.ranking import PairwiseAccuracy
from radreward.metrics.sub_score_metric import SubScoreMetric

__all__ = [
    "CountError",
    "KendallTauB",
    "PairwiseAccuracy",
    "RankCorrelation",
    "SpearmanRho",
    "SubScoreMetric",
    "cohen_kappa",
    "confusion_matrix",
]
