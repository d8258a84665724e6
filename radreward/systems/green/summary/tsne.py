"""Two-dimensional layout of error descriptions by t-SNE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_SENTENCES = 5
MAX_POINTS = 1_000
"""Maximum number of distinct sentences. If there are more, a random sample with a fixed seed is used."""
_PERPLEXITY = 30.0


class Embedding2D(NamedTuple):
    """Positions of distinct sentences."""

    positions: dict[str, tuple[float, float]]
    """x and y in [0, 1] of each sentence."""
    num_sentences: int
    """Number of distinct sentences, including those without a position."""
    perplexity: float | None
    failure: str | None
    """Reason why there are no positions; None if there are."""


def tsne_layout(sentences: Sequence[str], embeddings: Mapping[str, Floats], seed: int = 0) -> Embedding2D:
    """Return the positions of distinct sentences by t-SNE (van der Maaten and Hinton, 2008).

    Equal sentences are one point. The perplexity is 30, or (m − 1) / 3 for m <= 90 sentences. Both axes have the same
    scale. `seed` determines the sample and t-SNE.

    >>> tsne_layout(["a", "b", "a"], {}).failure
    'a t-SNE plot needs at least 5 distinct error descriptions but there are 2'
    """
    distinct = sorted(set(sentences))
    count = len(distinct)
    if count < MIN_SENTENCES:
        failure = f"a t-SNE plot needs at least {MIN_SENTENCES} distinct error descriptions but there are {count}"
        return Embedding2D({}, count, None, failure)
    if count > MAX_POINTS:
        sample = np.random.default_rng(seed).choice(count, MAX_POINTS, replace=False)
        distinct = [distinct[index] for index in sorted(sample.tolist())]
    points = np.stack([embeddings[sentence] for sentence in distinct]).astype(np.float64).round(6)
    if not np.ptp(points, axis=0).any():
        return Embedding2D({}, count, None, "all error descriptions have the same embedding")
    perplexity = min(_PERPLEXITY, (len(distinct) - 1) / 3)
    positions = _scale_to_unit_square(_tsne(points, perplexity, seed)).round(4).tolist()
    return Embedding2D(
        {name: (x, y) for name, (x, y) in zip(distinct, positions, strict=True)}, count, perplexity, None
    )


def _tsne(points: Floats, perplexity: float, seed: int) -> Floats:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # the result depends on the number of threads
        positions = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(points)
    return np.asarray(positions, dtype=np.float64)


def _scale_to_unit_square(positions: Floats) -> Floats:
    """Return (m, 2) positions shifted and scaled, both axes equally, with the narrower axis centered."""
    low, size = positions.min(0), np.ptp(positions, axis=0)
    scale = float(size.max()) or 1.0
    return np.asarray((positions - low) / scale + (1 - size / scale) / 2)
