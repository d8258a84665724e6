"""GREEN's pairings of existing reports: random, nearest neighbor, and perturbed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import is_fully_parsed

NUM_NEIGHBORS = 8
_BLOCK_SIZE = 512


class ReportPool:
    """Reports to sample candidates from; only completely parsed ones, so that all errors can be counted.

    Args:
        reports: At least two.
        num_neighbors: Number of nearest neighbors, by cosine of TF-IDF, from which one is sampled.
    """

    def __init__(self, reports: Sequence[AnnotatedReport], num_neighbors: int = NUM_NEIGHBORS) -> None:
        if len(reports) < 2:
            raise ValueError(f"Expected at least two reports to pair but got {len(reports)}.")
        self.reports = reports
        self.parsed_indices = [index for index, report in enumerate(reports) if is_fully_parsed(report)]
        texts = [reports[index].text for index in self.parsed_indices]
        if not self.can_pair:
            return
        from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import; the grammar does without
        from sklearn.neighbors import NearestNeighbors

        vectors = TfidfVectorizer(sublinear_tf=True, analyzer=_tokenize).fit_transform(texts)
        index = NearestNeighbors(n_neighbors=min(num_neighbors + 1, len(texts)), metric="cosine").fit(vectors)
        # One product of all reports at once would need memory that is quadratic in their number.
        starts = range(0, len(texts), _BLOCK_SIZE)
        blocks = [index.kneighbors(vectors[i : i + _BLOCK_SIZE], return_distance=False) for i in starts]
        self._neighbors = dict(zip(self.parsed_indices, np.concatenate(blocks), strict=True))

    @property
    def can_pair(self) -> bool:
        """True if enough reports are completely parsed to pair one with another."""
        return len(self.parsed_indices) > 1

    def sample_other(self, index: int, rng: Random) -> AnnotatedReport:
        """Return any other completely parsed report."""
        other = rng.randrange(len(self.parsed_indices) - 1)
        return self.reports[self.parsed_indices[other + (self.parsed_indices[other] >= index)]]

    def sample_neighbor(self, index: int, rng: Random) -> AnnotatedReport:
        """Return one of the reports with the most similar words."""
        neighbors = [self.parsed_indices[int(other)] for other in self._neighbors[index]]
        return self.reports[rng.choice([other for other in neighbors if other != index])]


def _tokenize(text: str) -> list[str]:
    return text.lower().split()
