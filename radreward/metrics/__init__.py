"""Metrics of predicted against known quality, by criterion and in total."""

from radreward.metrics.agreement import CohenKappa, class_counts, cohen_kappa, kappa_matrix, tau_matrix
from radreward.metrics.base import SubScoreMetric
from radreward.metrics.correlation import KendallTauB, RankCorrelation, Spearman
from radreward.metrics.counts import CountError
from radreward.metrics.heatmap import heatmap
from radreward.metrics.pairs import PairwiseAccuracy, WithinGroupTau

__all__ = [
    "CohenKappa",
    "CountError",
    "KendallTauB",
    "PairwiseAccuracy",
    "RankCorrelation",
    "Spearman",
    "SubScoreMetric",
    "WithinGroupTau",
    "class_counts",
    "cohen_kappa",
    "heatmap",
    "kappa_matrix",
    "tau_matrix",
]
