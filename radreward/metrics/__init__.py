"""Metrics of predicted against known quality, by criterion and in total."""

from radreward.metrics.correlation import KendallTauB, RankCorrelation, SpearmanRho
from radreward.metrics.count_error import CountError
from radreward.metrics.kappa import CohenKappa, cohen_kappa, confusion_matrix, kappa_matrix, tau_matrix
from radreward.metrics.plotting import heatmap
from radreward.metrics.ranking import PairwiseAccuracy, WithinGroupTau
from radreward.metrics.sub_score_metric import SubScoreMetric

__all__ = [
    "CohenKappa",
    "CountError",
    "KendallTauB",
    "PairwiseAccuracy",
    "RankCorrelation",
    "SpearmanRho",
    "SubScoreMetric",
    "WithinGroupTau",
    "confusion_matrix",
    "cohen_kappa",
    "heatmap",
    "kappa_matrix",
    "tau_matrix",
]
