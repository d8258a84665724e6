"""torchmetrics of rewards against targets, error counts and entities, and the agreement of two raters."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.metrics.correlation import KendallTauB, RankCorrelation, SpearmanRho
    from radreward.metrics.count_error import CountError
    from radreward.metrics.entity_f1 import EntityF1Metric
    from radreward.metrics.functional import cohen_kappa
    from radreward.metrics.ranking import PairwiseAccuracy
    from radreward.metrics.sub_score_metric import SubScoreMetric

__all__ = [
    "CountError",
    "EntityF1Metric",
    "KendallTauB",
    "PairwiseAccuracy",
    "RankCorrelation",
    "SpearmanRho",
    "SubScoreMetric",
    "cohen_kappa",
]

__getattr__ = lazy_exports(__name__)
