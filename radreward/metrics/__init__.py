"""Metrics of predicted against known quality, by criterion and in total."""

from radreward.metrics.base import SubScoreMetric
from radreward.metrics.correlation import KendallTauB, RankCorrelation, Spearman
from radreward.metrics.counts import CountError
from radreward.metrics.pairs import PairwiseAccuracy, WithinGroupTau

__all__ = [
    "CountError",
    "KendallTauB",
    "PairwiseAccuracy",
    "RankCorrelation",
    "Spearman",
    "SubScoreMetric",
    "WithinGroupTau",
]
