"""GREEN's pairings for reports that exist: random, nearest neighbour, sentences removed and shuffled, permuted."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS, reorder
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import PartiallyParsedSentence, is_fully_parsed

NUM_NEIGHBORS = 8


class ReportPool:
    """Reports to draw candidates from: only those that were read wholly, so that all errors can be counted.

    Args:
        reports: At least two.
        nearest: How many nearest neighbours, by cosine of TF-IDF, a neighbour is drawn from.
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

        vectors = TfidfVectorizer(sublinear_tf=True, analyzer=_words).fit_transform(texts)
        index = NearestNeighbors(n_neighbors=min(num_neighbors + 1, len(texts)), metric="cosine").fit(vectors)
        # In blocks: one product with all reports at once would need memory that grows with their square.
        blocks = [index.kneighbors(vectors[i : i + 512], return_distance=False) for i in range(0, len(texts), 512)]
        self._neighbours = dict(zip(self.parsed_indices, np.concatenate(blocks), strict=True))

    @property
    def can_pair(self) -> bool:
        """Whether enough reports were read wholly for one to be paired with another."""
        return len(self.parsed_indices) > 1

    def sample_other(self, index: int, rng: Random) -> AnnotatedReport:
        """Any other report than one that was read wholly."""
        other = rng.randrange(len(self.parsed_indices) - 1)
        return self.reports[self.parsed_indices[other + (self.parsed_indices[other] >= index)]]

    def sample_neighbor(self, index: int, rng: Random) -> AnnotatedReport:
        """One of the reports whose words are most like those of one that was read wholly."""
        others = [self.parsed_indices[int(other)] for other in self._neighbours[index]]
        return self.reports[rng.choice([other for other in others if other != index])]


def _words(text: str) -> list[str]:
    return text.lower().split()


def drop_and_shuffle(report: AnnotatedReport, rng: Random, drop_probability: float = 0.45) -> AnnotatedReport:
    """Without a share of its sentences, the rest of each section in another order; one is always left."""
    kept = [
        entry
        for entry in report.sentences
        if isinstance(entry, PartiallyParsedSentence) or rng.random() > drop_probability
    ]
    kept = kept or list(report.sentences[:1])
    return reorder(report._replace(sentences=tuple(kept)), rng)


def perturb_attribute(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """With the presence, severity, size or location of one finding changed; None where it has none."""
    for tag in rng.sample(sorted(ERROR_OPERATORS), k=len(ERROR_OPERATORS)):
        if (changed := ERROR_OPERATORS[tag](report, rng)) is not None:
            return changed
    return None
