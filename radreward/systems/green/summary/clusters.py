"""Clusters of error descriptions, and the sentences that represent them (GREEN, section 3.3)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MAX_CLUSTERS = 10
QUOTES_PER_CLUSTER = 3


@dataclass(frozen=True, slots=True)
class Quote:
    """A distinct sentence of the answers."""

    sentence: str
    frequency: int
    report_id: str
    """First report with this sentence."""


@dataclass(frozen=True, slots=True)
class ErrorCluster:
    """Similar errors."""

    size: int
    """Number of described errors. Equal sentences count separately."""
    fraction: float
    """Fraction of the category's described errors."""
    quotes: tuple[Quote, ...]
    """Sentences closest to the center, at most `QUOTES_PER_CLUSTER`. The first sentence represents the cluster."""


def cluster_errors(
    descriptions: Sequence[tuple[str, str]], embeddings: Mapping[str, Floats], seed: int = 0
) -> list[ErrorCluster]:
    """Return clusters of errors by k-means, the largest first.

    k is the number from 2 to min(10, n − 1, number of distinct sentences) with the highest mean silhouette, and the
    lowest such number if several are equal. If there is no such number, all errors are one cluster. Each distinct
    sentence is one point: k-means weighs it by its frequency, the silhouette does not. The order of the input affects
    only which reports are quoted.

    Args:
        descriptions: (n,) report id and sentence of each error.
        embeddings: Embedding of each sentence.
        seed: Seed of k-means.

    >>> near, far = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> errors = [("r1", "Effusion"), ("r2", "Effusion"), ("r3", "Rib fracture")]
    >>> clusters = cluster_errors(errors, {"Effusion": near, "Rib fracture": far})
    >>> clusters[0].size, clusters[0].quotes[0]
    (2, Quote(sentence='Effusion', frequency=2, report_id='r1'))
    """
    if not descriptions:
        return []
    counts = Counter(sentence for _, sentence in descriptions)
    first_report = {sentence: report_id for report_id, sentence in reversed(descriptions)}
    sentences = sorted(counts)  # the result of k-means depends on the order
    points = np.stack([embeddings[sentence] for sentence in sentences]).astype(np.float64).round(6)
    weights = np.array([counts[sentence] for sentence in sentences], dtype=np.float64)
    labels = best_cluster_labels(points, weights, seed)
    clusters = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        order = _order_by_distance(points[members], weights[members])
        closest = [sentences[members[index]] for index in order[:QUOTES_PER_CLUSTER]]
        quotes = tuple(Quote(sentence, counts[sentence], first_report[sentence]) for sentence in closest)
        size = int(weights[members].sum())
        clusters.append(ErrorCluster(size, size / len(descriptions), quotes))
    return sorted(clusters, key=lambda cluster: (-cluster.size, cluster.quotes[0].sentence))


def best_cluster_labels(points: Floats, weights: Floats, seed: int = 0) -> Ints:
    """Return the cluster of each of the (m, D) points of (m,) weights, for the best k, see `cluster_errors`."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import silhouette_score
    from threadpoolctl import threadpool_limits

    best, highest = np.zeros(len(points), dtype=np.int64), -np.inf
    for k in range(2, min(_MAX_CLUSTERS, int(weights.sum()) - 1, len(points)) + 1):
        with warnings.catch_warnings(), threadpool_limits(1):  # more threads are slower on so few points
            # If sentences have equal embeddings, there may be fewer than k clusters; then this k is skipped.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = KMeans(k, n_init=10, random_state=seed).fit(points, sample_weight=weights).labels_
        if len(set(labels.tolist())) < k:
            continue
        # scikit-learn rejects one cluster per point, where all silhouettes are 0.
        score = round(float(silhouette_score(points, labels)), 6) if k < len(points) else 0.0
        if score > highest:
            best, highest = labels.astype(np.int64), score
    return best


def _order_by_distance(points: Floats, weights: Floats) -> list[int]:
    """Return the indices of points in the order of their distance to the center, then of decreasing weight."""
    center = np.average(points, axis=0, weights=weights)
    distances = np.linalg.norm(points - center, axis=1).round(6)
    return [int(index) for index in np.lexsort((np.arange(len(points)), -weights, distances))]
