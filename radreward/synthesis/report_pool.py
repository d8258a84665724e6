"""Given reports as references, and as candidates of other references."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from radreward.errors import InputError
from radreward.extras import require_packages
from radreward.synthesis.report_reader import ReportTexts, parse_editable_report
from radreward.text.facts import AnnotatedReport
from radreward.text.report_parser import is_fully_parsed

_BLOCK_SIZE = 512


class ReportPool:
    """Given reports; samples candidates from the completely parsed ones, so that all errors can be counted.

    Args:
        reports: At least two reports.
        num_neighbors: Number of nearest neighbors, by cosine similarity of TF-IDF, from which one is sampled.
        generated: One output of a report generator per report, if known.
    """

    def __init__(
        self,
        reports: Sequence[AnnotatedReport],
        num_neighbors: int = 8,
        generated: Sequence[AnnotatedReport] | None = None,
    ) -> None:
        if len(reports) < 2:
            raise InputError(f"Expected at least two reports to pair but got {len(reports)}.")
        self.reports = reports
        self.generated = generated
        self.parsed_indices = [index for index, report in enumerate(reports) if is_fully_parsed(report)]
        texts = [reports[index].text for index in self.parsed_indices]
        if not self.can_pair:
            return
        require_packages("Pairing of real reports", "sklearn")
        # Slow to import, and not needed for generated reports.
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.neighbors import NearestNeighbors

        vectors = TfidfVectorizer(sublinear_tf=True, analyzer=_tokenize).fit_transform(texts)
        index = NearestNeighbors(n_neighbors=min(num_neighbors + 1, len(texts)), metric="cosine").fit(vectors)
        # One query for all reports would need memory that is quadratic in their number.
        starts = range(0, len(texts), _BLOCK_SIZE)
        blocks = [index.kneighbors(vectors[i : i + _BLOCK_SIZE], return_distance=False) for i in starts]
        self._neighbors = dict(zip(self.parsed_indices, np.concatenate(blocks), strict=True))

    @classmethod
    def from_texts(cls, reports: ReportTexts) -> ReportPool:
        """Parse reports, and the outputs of a report generator if given.

        Raises:
            InputError: If no error can be made in a text, or the numbers of reports and outputs differ.
        """
        outputs = reports.generated
        if outputs is not None and len(outputs) != len(reports.texts):
            raise InputError(
                f"generated: Expected {len(reports.texts)} outputs, one per report, but got {len(outputs)}."
            )
        parsed = _parse_reports(reports.texts, "reports")
        return cls(parsed, generated=None if outputs is None else _parse_reports(outputs, "generated"))

    @property
    def can_pair(self) -> bool:
        """True if at least two reports are completely parsed."""
        return len(self.parsed_indices) > 1

    def sample_other(self, index: int, rng: Random) -> AnnotatedReport:
        """Return any other completely parsed report."""
        other = rng.randrange(len(self.parsed_indices) - 1)
        return self.reports[self.parsed_indices[other + (self.parsed_indices[other] >= index)]]

    def sample_neighbor(self, index: int, rng: Random) -> AnnotatedReport:
        """Return one of the reports with the most similar words."""
        neighbors = [self.parsed_indices[int(other)] for other in self._neighbors[index]]
        return self.reports[rng.choice([other for other in neighbors if other != index])]


def _parse_reports(reports: Sequence[str], name: str) -> list[AnnotatedReport]:
    parsed = []
    for number, text in enumerate(reports):
        try:
            parsed.append(parse_editable_report(text))
        except ValueError as error:
            raise InputError(f"{name}[{number}]: {error}") from error
    return parsed


def _tokenize(text: str) -> list[str]:
    return text.lower().split()
