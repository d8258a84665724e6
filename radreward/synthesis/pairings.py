"""GREEN's pairings for reports that exist: random, nearest neighbour, sentences removed and shuffled, permuted."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

from radreward.synthesis.facts import AnnotatedReport
from radreward.synthesis.operators import OPERATORS, reorder

NEIGHBOURS = 8


class Pool:
    """Reports to draw candidates from.

    Args:
        reports: At least two.
        nearest: How many nearest neighbours, by cosine of TF-IDF, a neighbour is drawn from.
    """

    def __init__(self, reports: Sequence[AnnotatedReport], nearest: int = NEIGHBOURS) -> None:
        if len(reports) < 2:
            raise ValueError(f"Expected at least two reports to pair but got {len(reports)}.")
        self.reports = reports
        texts = [report.text for report in reports]
        vectors = TfidfVectorizer(sublinear_tf=True, min_df=1).fit_transform(texts)
        index = NearestNeighbors(n_neighbors=min(nearest + 1, len(reports)), metric="cosine").fit(vectors)
        # In blocks: one product with all reports at once would need memory that grows with their square.
        blocks = [index.kneighbors(vectors[i : i + 512], return_distance=False) for i in range(0, len(texts), 512)]
        self._neighbours: np.ndarray = np.concatenate(blocks)

    def random(self, index: int, rng: Random) -> AnnotatedReport:
        """Any other report."""
        other = rng.randrange(len(self.reports) - 1)
        return self.reports[other + (other >= index)]

    def neighbour(self, index: int, rng: Random) -> AnnotatedReport:
        """One of the reports whose words are most alike."""
        return self.reports[rng.choice([int(other) for other in self._neighbours[index] if other != index])]


def removed_and_shuffled(report: AnnotatedReport, rng: Random, share: float = 0.45) -> AnnotatedReport:
    """Without a share of its sentences, the rest of each section in another order; one is always left."""
    kept = [entry for entry in report.sentences if rng.random() > share] or list(report.sentences[:1])
    return reorder(report._replace(sentences=tuple(kept)), rng)


def permuted(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """With the presence, severity, size or location of one finding changed; None where it has none."""
    for tag in rng.sample(sorted(OPERATORS), k=len(OPERATORS)):
        if (changed := OPERATORS[tag](report, rng)) is not None:
            return changed
    return None
