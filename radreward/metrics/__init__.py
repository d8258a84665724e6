"""Metrics of predicted against target quality, of error counts, entities and raters; any scorer as a metric."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports
from radreward.metrics.correlation import KendallTauB, RankCorrelation, SpearmanRho
from radreward.metrics.count_error import CountError
from radreward.metrics.kappa import cohen_kappa, confusion_matrix
from radreward.metrics.ranking import PairwiseAccuracy
from radreward.metrics.sub_score_metric import SubScoreMetric

if TYPE_CHECKING:
    from radreward import ScorerMetric as ScorerMetric

__all__ = [
    "CountError",
    "KendallTauB",
    "PairwiseAccuracy",
    "RankCorrelation",
    "ScorerMetric",
    "SpearmanRho",
    "SubScoreMetric",
    "cohen_kappa",
    "confusion_matrix",
]

__getattr__ = lazy_exports(__name__)
