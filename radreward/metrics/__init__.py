"""Metrics of predicted against target quality, of error counts, entities and raters; any scorer as a metric."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward import ScorerMetric as ScorerMetric
    from radreward.metrics.correlation import KendallTauB as KendallTauB
    from radreward.metrics.correlation import RankCorrelation as RankCorrelation
    from radreward.metrics.correlation import SpearmanRho as SpearmanRho
    from radreward.metrics.count_error import CountError as CountError
    from radreward.metrics.kappa import cohen_kappa as cohen_kappa
    from radreward.metrics.kappa import confusion_matrix as confusion_matrix
    from radreward.metrics.ranking import PairwiseAccuracy as PairwiseAccuracy
    from radreward.metrics.sub_score_metric import SubScoreMetric as SubScoreMetric

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
