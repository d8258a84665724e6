"""Error detection: how well a score separates candidates with an error from candidates without one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from radreward.meta_evaluation.statistics.correlations import Estimate
from radreward.statistics.cluster_bootstrap import bootstrap_auc, counts_of_clusters, percentile_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MIN_ERRORS = 0.5
"""A candidate has an error if the mean count over raters is at least this, so that it rounds to one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDetection:
    """Detection of one kind of error by one scorer.

    Attributes:
        n: Number of pairs with both a score and a count.
        n_with_error: Number of these pairs with an error.
        auc: Area under the ROC curve; NaN if undefined.
        note: Reason for an undefined value, or a caveat.
    """

    n: int
    n_with_error: int
    auc: Estimate = Estimate()
    note: str | None = None


def error_detection(
    x: Floats, errors: Floats, cluster_ids: Ints, resample_counts: NDArray[np.integer]
) -> ErrorDetection:
    """Return the area under the ROC curve: P(score without an error > score with one), with ties as one half.

    It does not depend on how many pairs have an error, while τ-b of a rare error is dominated by ties.

    Args:
        x: (n,) scores, higher is better, NaN if missing.
        errors: (n,) error counts of the mean rater, NaN if missing; `MIN_ERRORS` or more is an error.
        cluster_ids: (n,) cluster of each row, 0 to G - 1.
        resample_counts: (B, G) number of times each cluster is in each resample.

    >>> counts = np.ones((0, 4), dtype=np.int64)
    >>> detection = error_detection(np.array([3.0, 2, 2, 1]), np.array([0.0, 0, 1, 2]), np.arange(4), counts)
    >>> detection.n_with_error, detection.auc.value
    (2, 0.875)
    """
    defined = ~(np.isnan(x) | np.isnan(errors))
    x, has_error = x[defined], errors[defined] >= MIN_ERRORS
    clusters, cluster = np.unique(cluster_ids[defined], return_inverse=True)
    n, n_with_error = len(x), int(has_error.sum())
    if note := _reason(x, n_with_error):
        return ErrorDetection(n=n, n_with_error=n_with_error, note=note)
    counts = counts_of_clusters(resample_counts, clusters)
    all_once = np.ones_like(counts, shape=(1, len(clusters)))
    value, *samples = bootstrap_auc(x, has_error, cluster, np.concatenate([all_once, counts]))
    estimate = Estimate(float(value))
    if samples and len(clusters) > 1:
        low, high = percentile_interval(np.array(samples))
        estimate = estimate._replace(low=float(low), high=float(high))
    note = None if len(clusters) > 1 else "only one case: no interval"
    return ErrorDetection(n=n, n_with_error=n_with_error, auc=estimate, note=note)


def _reason(x: Floats, n_with_error: int) -> str | None:
    """Return the reason why the area is undefined, or None."""
    if not len(x):
        return "no pair has both a score and a count"
    if n_with_error in (0, len(x)):
        return f"{'every' if n_with_error else 'no'} candidate has an error"
    return f"all scores are {x[0]:g}" if np.ptp(x) == 0 else None
