"""Errors in words as points in a plane: the nearer, the more alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_SENTENCES = 5
"""Different sentences below which there is no plane to speak of."""
MAX_POINTS = 1_000
"""Most different sentences that are laid out; of more, so many are drawn at random, always the same."""
PERPLEXITY = 30.0


class Embedding2D(NamedTuple):
    """Sentences in a plane."""

    positions: dict[str, tuple[float, float]]
    """Of each sentence that is laid out, x and y in [0, 1]."""
    num_sentences: int
    """How many different ones there are."""
    perplexity: float | None
    failure: str | None
    """Why nothing is laid out."""


def tsne_layout(sentences: Sequence[str], embeddings: Mapping[str, Floats], seed: int = 0) -> Embedding2D:
    """Different sentences in a plane by t-SNE (van der Maaten and Hinton, 2008).

    The perplexity is 30, or a third of the other sentences where these are fewer than 90. Both axes have one scale, for
    distances are all that the plane tells.

    Args:
        sentences: Equal ones are one point.
        vectors: The embedding of each.
        seed: Of what is drawn.

    >>> lay_out(["a", "b", "a"], {}).problem
    'a t-SNE plot needs at least 5 different errors in words; there are 2'
    """
    different = sorted(set(sentences))
    count = len(different)
    if count < MIN_SENTENCES:
        problem = f"a t-SNE plot needs at least {MIN_SENTENCES} different errors in words; there are {count or 'none'}"
        return Embedding2D({}, count, None, problem)
    chosen = different
    if count > MAX_POINTS:
        drawn = np.random.default_rng(seed).choice(count, MAX_POINTS, replace=False)
        chosen = [different[place] for place in sorted(drawn.tolist())]
    points = np.stack([embeddings[sentence] for sentence in chosen]).astype(np.float64).round(6)
    if not np.ptp(points, axis=0).any():
        return Embedding2D({}, count, None, "all errors in words mean the same to the encoder")
    perplexity = min(PERPLEXITY, (len(chosen) - 1) / 3)
    places = _scale_to_unit_square(_tsne(points, perplexity, seed))
    laid = {name: (float(x), float(y)) for name, (x, y) in zip(chosen, places.round(4).tolist(), strict=True)}
    return Embedding2D(laid, count, perplexity, None)


def _tsne(points: Floats, perplexity: float, seed: int) -> Floats:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # equal on every machine with equal libraries, however many cores it has
        made = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(points)
    return np.asarray(made, dtype=np.float64)


def _scale_to_unit_square(positions: Floats) -> Floats:
    """(m, 2) moved and scaled, both axes by the same, with what is narrower in the middle."""
    low, size = positions.min(0), np.ptp(positions, axis=0)
    widest = float(size.max()) or 1.0
    return np.asarray((positions - low) / widest + (1 - size / widest) / 2)
