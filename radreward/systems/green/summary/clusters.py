"""Errors in words, put together by their meaning, and the sentence that stands for many."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_CLUSTERS = 10
"""Most clusters of a category."""
QUOTES_PER_CLUSTER = 3
"""Sentences that are shown of a cluster."""


class Quote(NamedTuple):
    """A sentence of the answers, as it stands there."""

    sentence: str
    num_reports: int
    """How often it stands there."""
    report_id: str
    """The first report of which it was said."""


class ErrorCluster(NamedTuple):
    """Errors that are alike."""

    size: int
    """How many errors in words; equal sentences count as often as they were said."""
    fraction: float
    """Of the errors in words of the category."""
    quotes: tuple[Quote, ...]
    """The sentences nearest the centre, at most `SHOWN`; the first stands for the cluster."""


def cluster_errors(
    error_sentences: Sequence[tuple[str, str]], embeddings: Mapping[str, Floats], seed: int = 0
) -> list[ErrorCluster]:
    """Errors in clusters by k-means, the largest first (GREEN, section 3.3).

    k is that of 2 to min(10, n − 1), and of at most the number of different sentences, which has the highest mean
    silhouette; of equal ones the lowest. Equal sentences are one point to the silhouette, for else to say a thing twice
    would prove it a group, and each as often as it was said to the k-means. One cluster holds all where there is no
    such k: fewer than three errors, or all alike. The order of the input does not matter but for which report is named
    first.

    Args:
        said: (n,) report and sentence of each error.
        vectors: The embedding of each sentence.
        seed: Of the k-means.

    >>> near, far = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> said = [("r1", "Effusion"), ("r2", "Effusion"), ("r3", "Rib fracture")]
    >>> found = find_clusters(said, {"Effusion": near, "Rib fracture": far})
    >>> found[0].size, found[0].quotes[0]
    (2, Quote(sentence='Effusion', times=2, id='r1'))
    """
    if not error_sentences:
        return []
    counts = Counter(sentence for _, sentence in error_sentences)
    first: dict[str, str] = {}
    for id_, sentence in error_sentences:
        first.setdefault(sentence, id_)
    sentences = sorted(counts)  # so that k-means draws the same whatever the order of the rows
    points = np.stack([embeddings[sentence] for sentence in sentences]).astype(np.float64).round(6)
    weights = np.array([counts[sentence] for sentence in sentences], dtype=np.float64)
    labels = best_cluster_labels(points, weights, seed)
    found = []
    for label in sorted(set(labels.tolist())):
        members = np.flatnonzero(labels == label)
        order = _order_by_distance(points[members], weights[members])
        quotes = [
            Quote(name := sentences[members[place]], counts[name], first[name]) for place in order[:QUOTES_PER_CLUSTER]
        ]
        size = int(weights[members].sum())
        found.append(ErrorCluster(size, size / len(error_sentences), tuple(quotes)))
    return sorted(found, key=lambda cluster: (-cluster.size, cluster.quotes[0].sentence))


def best_cluster_labels(points: Floats, weights: Floats, seed: int = 0) -> Ints:
    """The cluster of each of m different points, by the k with the highest silhouette: see `find_clusters`.

    Args:
        points: (m, D).
        weights: (m,) how often each is there; n = Σ weights.
        seed: Of the k-means.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import silhouette_score
    from threadpoolctl import threadpool_limits

    best, highest = np.zeros(len(points), dtype=np.int64), -np.inf
    for k in range(2, min(MAX_CLUSTERS, int(weights.sum()) - 1, len(points)) + 1):
        with warnings.catch_warnings(), threadpool_limits(1):  # more threads wait for one another longer than they work
            # Sentences may differ and their embeddings not: then there are fewer clusters, and this k is none.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = KMeans(k, n_init=10, random_state=seed).fit(points, sample_weight=weights).labels_
        if len(set(labels.tolist())) < k:
            continue
        # Each sentence alone: all silhouettes are 0, which sklearn does not say.
        score = round(float(silhouette_score(points, labels)), 6) if k < len(points) else 0.0
        if score > highest:
            best, highest = labels.astype(np.int64), score
    return best


def _order_by_distance(points: Floats, weights: Floats) -> list[int]:
    """Places of points by their distance to the centre; of equally near ones the more frequent comes first."""
    centre = np.average(points, axis=0, weights=weights)
    apart = np.linalg.norm(points - centre, axis=1).round(6)
    return [int(place) for place in np.lexsort((np.arange(len(points)), -weights, apart))]
