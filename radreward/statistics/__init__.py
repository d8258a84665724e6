"""Statistics shared by comparisons: paired tests, cluster bootstrap and weighted concordance."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.statistics.cluster_bootstrap import (
        BootstrapCorrelations,
        bootstrap_auc,
        bootstrap_correlations,
        bootstrap_tau,
        percentile_interval,
        ratio_interval,
        resample_clusters,
    )
    from radreward.statistics.paired_tests import PairedDifference, holm, paired_differences, sign_flip_test

__all__ = [
    "BootstrapCorrelations",
    "PairedDifference",
    "bootstrap_auc",
    "bootstrap_correlations",
    "bootstrap_tau",
    "holm",
    "paired_differences",
    "percentile_interval",
    "ratio_interval",
    "resample_clusters",
    "sign_flip_test",
]

__getattr__ = lazy_exports(__name__)
