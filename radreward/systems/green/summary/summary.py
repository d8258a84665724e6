"""Summary of the errors of report generators, from explained scores (GREEN, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.nn import functional as F

from radreward.errors import InputError
from radreward.io.artifacts import file_fingerprint
from radreward.models.text_encoder import TextEncoder
from radreward.systems.green.summary.category_statistics import (
    CategorySummary,
    ScoreStatistics,
    category_statistics,
    error_categories_of,
    score_statistics,
    uses_green_formula,
)
from radreward.systems.green.summary.clusters import cluster_errors
from radreward.systems.green.summary.explanations import ReportExplanation, check_categories, read_explanations
from radreward.systems.green.summary.tsne import Embedding2D, tsne_layout

_ProgressCallback = Callable[[str], None]

FORMAT = 1
_SENTENCES_PER_CHUNK = 256
"""Sentences that are embedded between two progress messages."""


@dataclass(frozen=True, slots=True)
class SystemSummary:
    """Summary of the reports of one system."""

    system: str | None
    """Report generator; None if unknown."""
    statistics: ScoreStatistics
    categories: tuple[CategorySummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPoint:
    """Equal error descriptions of one category and system, as a point of the plot."""

    x: float
    y: float
    """Both in [0, 1]; y points up."""
    tag: str
    system: str | None
    sentence: str
    frequency: int
    report_id: str
    """First report with this sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """Errors of the reports of one or several systems."""

    score_name: str
    """"GREEN" if all scores follow its formula, else "Total"."""
    systems: tuple[SystemSummary, ...]
    points: tuple[ErrorPoint, ...]
    """Significant errors."""
    layout: Embedding2D
    encoder: str
    seed: int
    num_truncated: int
    """Number of distinct sentences that were truncated for the encoder."""
    files: dict[str, str] = field(default_factory=dict)
    """SHA-256 of each input file."""

    def to_dict(self) -> dict[str, Any]:
        """Return the summary for JSON."""
        return {
            "format": FORMAT,
            "score_name": self.score_name,
            "systems": [_system_to_dict(system) for system in self.systems],
            "plot": {
                "sentences": self.layout.num_sentences,
                "plotted": len(self.layout.positions),
                "perplexity": self.layout.perplexity,
                "failure": self.layout.failure,
                "points": [asdict(point) for point in self.points],
            },
            "encoder": self.encoder,
            "seed": self.seed,
            "sentences_truncated": self.num_truncated,
            "files": self.files,
        }


def _system_to_dict(system: SystemSummary) -> dict[str, Any]:
    values = asdict(system)
    for category in values["categories"]:  # the number of descriptions instead of all of them
        category |= {"num_described": len(category.pop("descriptions")), "clusters": category.pop("clusters")}
    return values


def summarize_files(
    paths: Sequence[str | Path],
    encoder: str = "embedded",
    seed: int = 0,
    on_progress: _ProgressCallback = lambda step: None,
    scorer: str | None = None,
) -> ErrorSummary:
    """Summarize files written by `radreward score`; see `summarize_explanations` for the other arguments.

    Of several `paths`, a row without a system belongs to a system with the name of its file. `scorer` is the name of
    the scorer in files with explanations of several.

    Raises:
        InputError: If a row is invalid, two files have the same name, or as in `summarize_explanations`.
    """
    files = [Path(path) for path in paths]
    names = [file.stem for file in files]
    if repeated := [file for file in files if names.count(file.stem) > 1]:
        raise InputError(f"{repeated[-1]}: Expected files with different names but two are called {repeated[-1].stem}.")
    explanations: list[ReportExplanation] = []
    sources: list[Path] = []
    for file in files:
        explanations += read_explanations(file, file.stem if len(files) > 1 else None, scorer)
        sources += [file] * (len(explanations) - len(sources))
    check_categories(explanations, lambda index: str(sources[index]))
    summary = summarize_explanations(explanations, encoder, seed, on_progress)
    return replace(summary, files={str(file): file_fingerprint(file) for file in files})


def summarize_explanations(
    explanations: Sequence[ReportExplanation],
    encoder: str = "embedded",
    seed: int = 0,
    on_progress: _ProgressCallback = lambda step: None,
) -> ErrorSummary:
    """Summarize the explained scores of GREEN or RadReason, separately for each report generator.

    Args:
        explanations: Explained scores, see `explanations_from_scores` and `read_explanations`.
        encoder: Encoder of the error descriptions: `embedded` (MiniLM), a local folder or a downloaded Hub name.
        seed: Seed of k-means and t-SNE.
        on_progress: Called with a description of each step.

    Raises:
        InputError: If no report has an explanation, or the encoder is missing.
    """
    categories = error_categories_of(explanations)
    if not categories:
        reasons = score_statistics(explanations).unscored_reasons
        first = f"; the first of {len(explanations)} reports: {next(iter(reasons))}" if reasons else ""
        raise InputError(f"summary: Expected at least one report with an answer but got none{first}.")
    by_system: dict[str | None, list[ReportExplanation]] = {}
    for report in explanations:
        by_system.setdefault(report.system, []).append(report)
    statistics = {
        system: [category_statistics(reports, category) for category in categories]
        for system, reports in by_system.items()
    }
    sentences = [sentence for rows in statistics.values() for row in rows for _, sentence in row.descriptions]
    embeddings, num_truncated = embed_sentences(sentences, encoder, on_progress)
    systems = []
    for system, reports in by_system.items():
        clustered = []
        for row in statistics[system]:
            on_progress(f"clustering errors: {row.tag.replace('_', ' ')}{f' ({system})' if system else ''}")
            clustered.append(replace(row, clusters=tuple(cluster_errors(row.descriptions, embeddings, seed))))
        systems.append(SystemSummary(system, score_statistics(reports), tuple(clustered)))
    on_progress("plotting errors")
    significant = [
        (system.system, row.tag, sentence, report_id)
        for system in systems
        for row in system.categories
        if row.significant
        for report_id, sentence in row.descriptions
    ]
    layout = tsne_layout([sentence for _, _, sentence, _ in significant], embeddings, seed)
    return ErrorSummary(
        score_name="GREEN" if uses_green_formula(explanations) else "Total",
        systems=tuple(systems),
        points=tuple(_error_points(significant, layout)),
        layout=layout,
        encoder=encoder,
        seed=seed,
        num_truncated=num_truncated,
    )


def embed_sentences(
    sentences: Sequence[str], encoder: str = "embedded", on_progress: _ProgressCallback = lambda step: None
) -> tuple[dict[str, NDArray[np.float64]], int]:
    """Return the mean token embedding of each distinct sentence, scaled to length 1, and the number of truncated ones.

    Raises:
        InputError: If the encoder is missing.
    """
    distinct = sorted(set(sentences))
    if not distinct:
        return {}, 0
    model = TextEncoder(encoder)
    embeddings: dict[str, NDArray[np.float64]] = {}
    num_truncated = 0
    for start in range(0, len(distinct), _SENTENCES_PER_CHUNK):
        on_progress(f"embedding errors: {start} of {len(distinct)} distinct descriptions")
        for sentence, tokens in model.encode(distinct[start : start + _SENTENCES_PER_CHUNK]).items():
            embeddings[sentence] = F.normalize(tokens.vectors.double().mean(0), dim=0).numpy()
            num_truncated += tokens.truncated
    return embeddings, num_truncated


def _error_points(errors: Sequence[tuple[str | None, str, str, str]], layout: Embedding2D) -> list[ErrorPoint]:
    """Return one point per system, category and plotted sentence, given (system, tag, sentence, report id)."""
    plotted = [error for error in errors if error[2] in layout.positions]
    points: dict[tuple[str | None, str, str], ErrorPoint] = {}
    for system, tag, sentence, report_id in plotted:
        x, y = layout.positions[sentence]
        point = points.get((system, tag, sentence)) or ErrorPoint(
            x=x, y=y, tag=tag, system=system, sentence=sentence, frequency=0, report_id=report_id
        )
        points[system, tag, sentence] = replace(point, frequency=point.frequency + 1)
    return list(points.values())
