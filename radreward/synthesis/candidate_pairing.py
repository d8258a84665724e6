"""GREEN's pairings for reports that exist: random, nearest neighbour, sentences removed and shuffled, permuted."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from radreward.synthesis.perturbations.error_operators import OPERATORS, reorder
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import Excerpt, wholly_read

NEIGHBOURS = 8


class Pool:
    """Reports to draw candidates from: only those that were read wholly, so that all errors can be counted.

    Args:
        reports: At least two.
        nearest: How many nearest neighbours, by cosine of TF-IDF, a neighbour is drawn from.
    """

    def __init__(self, reports: Sequence[AnnotatedReport], nearest: int = NEIGHBOURS) -> None:
        if len(reports) < 2:
            raise ValueError(f"Expected at least two reports to pair but got {len(reports)}.")
        self.reports = reports
        self.readable = [index for index, report in enumerate(reports) if wholly_read(report)]
        texts = [reports[index].text for index in self.readable]
        if not self.pairs:
            return
        from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import; the grammar does without
        from sklearn.neighbors import NearestNeighbors

        vectors = TfidfVectorizer(sublinear_tf=True, analyzer=_words).fit_transform(texts)
        index = NearestNeighbors(n_neighbors=min(nearest + 1, len(texts)), metric="cosine").fit(vectors)
        # In blocks: one product with all reports at once would need memory that grows with their square.
        blocks = [index.kneighbors(vectors[i : i + 512], return_distance=False) for i in range(0, len(texts), 512)]
        self._neighbours = dict(zip(self.readable, np.concatenate(blocks), strict=True))

    @property
    def pairs(self) -> bool:
        """Whether enough reports were read wholly for one to be paired with another."""
        return len(self.readable) > 1

    def random(self, index: int, rng: Random) -> AnnotatedReport:
        """Any other report than one that was read wholly."""
        other = rng.randrange(len(self.readable) - 1)
        return self.reports[self.readable[other + (self.readable[other] >= index)]]

    def neighbour(self, index: int, rng: Random) -> AnnotatedReport:
        """One of the reports whose words are most like those of one that was read wholly."""
        others = [self.readable[int(other)] for other in self._neighbours[index]]
        return self.reports[rng.choice([other for other in others if other != index])]


def _words(text: str) -> list[str]:
    return text.lower().split()


def removed_and_shuffled(report: AnnotatedReport, rng: Random, share: float = 0.45) -> AnnotatedReport:
    """Without a share of its sentences, the rest of each section in another order; one is always left."""
    kept = [entry for entry in report.sentences if isinstance(entry, Excerpt) or rng.random() > share]
    kept = kept or list(report.sentences[:1])
    return reorder(report._replace(sentences=tuple(kept)), rng)


def permuted(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """With the presence, severity, size or location of one finding changed; None where it has none."""
    for tag in rng.sample(sorted(OPERATORS), k=len(OPERATORS)):
        if (changed := OPERATORS[tag](report, rng)) is not None:
            return changed
    return None
