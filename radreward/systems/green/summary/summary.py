"""What a model that explains says of whole report generators (GREEN, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.data.records import file_fingerprint
from radreward.errors import InputError
from radreward.systems.green.summary.category_statistics import (
    CategoryStatistics,
    ErrorCategory,
    MeanOverReports,
    ScoreStatistics,
    category_statistics,
    error_categories_of,
    score_statistics,
    uses_green_formula,
)
from radreward.systems.green.summary.clusters import ErrorCluster, cluster_errors
from radreward.systems.green.summary.explanations import (
    ReportExplanation,
    check_categories,
    explanations_from_scores,
    read_explanations,
)
from radreward.systems.green.summary.tsne import Embedding2D, tsne_layout
from radreward.types import Scores

ProgressCallback = Callable[[str], None]

FORMAT = 1
MAX_SENTENCE_TOKENS = 256
"""Most tokens of a sentence that are embedded."""
SENTENCES_PER_CHUNK = 256
"""Sentences that are embedded between two words of progress."""


class CategorySummary(NamedTuple):
    """The errors of a category in the reports of a system."""

    tag: str
    significant: bool
    """False for errors that do not matter for the patient's care."""
    num_readable: int
    """Reports whose number of such errors could be read."""
    num_unreadable: int
    """Reports where it could not."""
    accuracy: float | None
    """Share of the n reports without such an error."""
    errors_per_report: MeanOverReports
    """Errors of a report."""
    total_errors: float
    """Errors in all n reports."""
    num_described: int
    """How many the model put in words."""
    clusters: tuple[ErrorCluster, ...]
    """These, the largest cluster first."""


class SystemSummary(NamedTuple):
    """The reports of one system."""

    system: str | None
    """None where nobody told who wrote them."""
    statistics: ScoreStatistics
    categories: tuple[CategorySummary, ...]


class ErrorPoint(NamedTuple):
    """Equal errors of one category and system, in the plane."""

    x: float
    y: float
    """Both in [0, 1]; y goes up."""
    tag: str
    system: str | None
    sentence: str
    num_reports: int
    report_id: str
    """The first report of which it was said."""


class ErrorSummary(NamedTuple):
    """What a model said of the reports of one system or of several."""

    score_name: str
    """What the score is: "GREEN" where all scores are those of the counts by its formula, else "Total"."""
    systems: tuple[SystemSummary, ...]
    points: tuple[ErrorPoint, ...]
    """The significant errors in words."""
    layout: Embedding2D
    encoder: str
    seed: int
    num_truncated: int
    """Different sentences of which only the first 256 tokens were embedded."""
    files: dict[str, str]
    """sha256 of each file that was read."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        plot = self.layout
        drawn = {"sentences": plot.num_sentences, "laid_out": len(plot.positions), "perplexity": plot.perplexity}
        return {
            "format": FORMAT,
            "score": self.score_name,
            "systems": _to_json_value(self.systems),
            "plot": {**drawn, "problem": plot.failure, "points": _to_json_value(self.points)},
            "encoder": self.encoder,
            "seed": self.seed,
            "sentences_cut": self.num_truncated,
            "files": self.files,
        }


def _to_json_value(value: Any) -> Any:
    """Named tuples as mappings, other tuples as lists."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _to_json_value(entry) for key, entry in value.items()}
    return [_to_json_value(entry) for entry in value] if isinstance(value, list | tuple) else value


def summarize_scores(
    scores: Scores,
    report_ids: Sequence[str],
    systems: Sequence[str | None] | None = None,
    encoder: str = "embedded",
    seed: int = 0,
    on_progress: ProgressCallback = lambda what: None,
) -> ErrorSummary:
    """Summary of the scores of a scorer that explains, such as GREEN or RadReason.

    Args:
        scores: Of n candidates.
        ids: (n,) what the reports are called.
        systems: (n,) who or what wrote each; there is a summary for each system.
        encoder: Which embeds the errors: `embedded` (MiniLM), a local folder or a hub name that is on this machine.
        seed: Of the k-means and of the t-SNE.
        tell: Called with what is being done.

    Raises:
        ValueError: If ids, systems or evidence do not fit.
        InputError: If no report was answered, answers count different categories, or there is no such encoder.
    """
    return summarize_explanations(explanations_from_scores(scores, report_ids, systems), encoder, seed, on_progress)


def summarize_files(
    paths: Sequence[str | Path],
    encoder: str = "embedded",
    seed: int = 0,
    on_progress: ProgressCallback = lambda what: None,
) -> ErrorSummary:
    """Summary of what `radreward score` wrote; see `read_reasons` and `summarize`.

    Args:
        paths: Of several files, rows that do not say their system are of the one called like the file.
        encoder: See `summarize`.
        seed: See `summarize`.
        tell: See `summarize`.

    Raises:
        InputError: If a row cannot be used, two files are called alike, or as of `summarize`.
    """
    files = [Path(path) for path in paths]
    names = [file.stem for file in files]
    if twice := [file for file, name in zip(files, names, strict=True) if names.count(name) > 1]:
        raise InputError(f"{twice[-1]}: Expected files of different names but two are called {twice[-1].stem}.")
    reasons: list[ReportExplanation] = []
    sources: list[Path] = []
    for file, name in zip(files, names, strict=True):
        reasons += read_explanations(file, name if len(files) > 1 else None)
        sources += [file] * (len(reasons) - len(sources))
    check_categories(reasons, lambda place: str(sources[place]))
    found = summarize_explanations(reasons, encoder, seed, on_progress)
    return found._replace(files={str(file): file_fingerprint(file) for file in files})


def summarize_explanations(
    explanations: Sequence[ReportExplanation],
    encoder: str = "embedded",
    seed: int = 0,
    on_progress: ProgressCallback = lambda what: None,
) -> ErrorSummary:
    """Summary of what was said of reports; see `summarize`.

    Raises:
        InputError: If no report was answered, or there is no such encoder.
    """
    kinds = error_categories_of(explanations)
    if not kinds:
        why = score_statistics(explanations).unscored_reasons
        first = f"; the first of {len(explanations)} reports: {next(iter(why))}" if why else ""
        raise InputError(f"summary: Expected at least one report that a model answered but there is none{first}.")
    by_system: dict[str | None, list[ReportExplanation]] = {}
    for entry in explanations:
        by_system.setdefault(entry.system, []).append(entry)
    figures = {system: {kind: category_statistics(part, kind) for kind in kinds} for system, part in by_system.items()}
    every = [sentence for each in figures.values() for found in each.values() for _, sentence in found.error_sentences]
    vectors, cut = embed_sentences(every, encoder, on_progress)
    made = []
    for system, part in by_system.items():
        categories = []
        for kind, found in figures[system].items():
            on_progress(f"errors that are alike: {kind.error_key.replace('_', ' ')}{f' ({system})' if system else ''}")
            categories.append(_summarize_category(kind, found, vectors, seed))
        made.append(SystemSummary(system, score_statistics(part), tuple(categories)))
    on_progress("plot of the errors")
    said = [
        (system, kind.tag, *error)
        for system, each in figures.items()
        for kind, found in each.items()
        for error in found.error_sentences
        if kind.significant
    ]
    plot = tsne_layout([sentence for *_, sentence in said], vectors, seed)
    score = "GREEN" if uses_green_formula(explanations) else "Total"
    return ErrorSummary(score, tuple(made), tuple(_error_points(said, plot)), plot, encoder, seed, cut, {})


def embed_sentences(
    sentences: Sequence[str], encoder: str = "embedded", on_progress: ProgressCallback = lambda what: None
) -> tuple[dict[str, NDArray[np.float64]], int]:
    """The embedding of each different sentence, and of how many only the beginning was read.

    Raises:
        InputError: If there is no such encoder.
    """
    different = sorted(set(sentences))
    if not different:
        return {}, 0
    from radreward.systems.ratescore.encoder import EntityEncoder

    model = EntityEncoder(encoder, max_length=MAX_SENTENCE_TOKENS, cache_size=1)
    found: dict[str, NDArray[np.float64]] = {}
    cut, rest = 0, iter(different)
    while chunk := list(islice(rest, SENTENCES_PER_CHUNK)):
        on_progress(f"meaning of errors: {len(found)} of {len(different)} different ones")
        embedded = model.embed(chunk)
        found |= zip(chunk, embedded.vectors.double().numpy(), strict=True)
        cut += sum(embedded.truncated)
    return found, cut


def _summarize_category(
    kind: ErrorCategory, statistics: CategoryStatistics, embeddings: Mapping[str, NDArray[np.float64]], seed: int
) -> CategorySummary:
    clusters = cluster_errors(statistics.error_sentences, embeddings, seed)
    figures = (
        statistics.num_readable,
        statistics.num_unreadable,
        statistics.accuracy,
        statistics.errors_per_report,
        statistics.total_errors,
    )
    return CategorySummary(kind.tag, kind.significant, *figures, len(statistics.error_sentences), tuple(clusters))


def _error_points(errors: Sequence[tuple[str | None, str, str, str]], layout: Embedding2D) -> list[ErrorPoint]:
    """Points of (system, tag, report, sentence), those that are laid out."""
    points: dict[tuple[str | None, str, str], ErrorPoint] = {}
    for system, tag, id_, sentence in errors:
        if sentence in layout.positions:
            key = system, tag, sentence
            before = points.get(key) or ErrorPoint(*layout.positions[sentence], tag, system, sentence, 0, id_)
            points[key] = before._replace(num_reports=before.num_reports + 1)
    return list(points.values())
