"""What a model that explains says of whole report generators (GREEN, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.data.records import fingerprint
from radreward.errors import InputError
from radreward.systems.green.summary.category_statistics import (
    ErrorKind,
    Figures,
    Mean,
    Readings,
    figures_of,
    is_green,
    kinds_of,
    readings_of,
)
from radreward.systems.green.summary.clusters import Cluster, find_clusters
from radreward.systems.green.summary.explanations import Reasons, check_categories, read_reasons, reasons_of
from radreward.systems.green.summary.tsne import Layout, lay_out
from radreward.types import Scores

Tell = Callable[[str], None]

FORMAT = 1
LONGEST = 256
"""Most tokens of a sentence that are embedded."""
CHUNK = 256
"""Sentences that are embedded between two words of progress."""


class Category(NamedTuple):
    """The errors of a category in the reports of a system."""

    tag: str
    significant: bool
    """False for errors that do not matter for the patient's care."""
    n: int
    """Reports whose number of such errors could be read."""
    unread: int
    """Reports where it could not."""
    accuracy: float | None
    """Share of the n reports without such an error."""
    errors: Mean
    """Errors of a report."""
    total: float
    """Errors in all n reports."""
    in_words: int
    """How many the model put in words."""
    clusters: tuple[Cluster, ...]
    """These, the largest cluster first."""


class SystemSummary(NamedTuple):
    """The reports of one system."""

    system: str | None
    """None where nobody told who wrote them."""
    readings: Readings
    categories: tuple[Category, ...]


class Point(NamedTuple):
    """Equal errors of one category and system, in the plane."""

    x: float
    y: float
    """Both in [0, 1]; y goes up."""
    tag: str
    system: str | None
    sentence: str
    times: int
    id: str
    """The first report of which it was said."""


class Summary(NamedTuple):
    """What a model said of the reports of one system or of several."""

    score: str
    """What the score is: "GREEN" where all scores are those of the counts by its formula, else "Total"."""
    systems: tuple[SystemSummary, ...]
    points: tuple[Point, ...]
    """The significant errors in words."""
    plot: Layout
    encoder: str
    seed: int
    cut: int
    """Different sentences of which only the first 256 tokens were embedded."""
    files: dict[str, str]
    """sha256 of each file that was read."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        plot = self.plot
        drawn = {"sentences": plot.sentences, "laid_out": len(plot.places), "perplexity": plot.perplexity}
        return {
            "format": FORMAT,
            "score": self.score,
            "systems": plain(self.systems),
            "plot": {**drawn, "problem": plot.problem, "points": plain(self.points)},
            "encoder": self.encoder,
            "seed": self.seed,
            "sentences_cut": self.cut,
            "files": self.files,
        }


def plain(value: Any) -> Any:
    """Named tuples as mappings, other tuples as lists."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    return [plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def summarize(
    scores: Scores,
    ids: Sequence[str],
    systems: Sequence[str | None] | None = None,
    encoder: str = "embedded",
    seed: int = 0,
    tell: Tell = lambda what: None,
) -> Summary:
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
    return summary_of(reasons_of(scores, ids, systems), encoder, seed, tell)


def summarize_files(
    paths: Sequence[str | Path], encoder: str = "embedded", seed: int = 0, tell: Tell = lambda what: None
) -> Summary:
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
    reasons: list[Reasons] = []
    sources: list[Path] = []
    for file, name in zip(files, names, strict=True):
        reasons += read_reasons(file, name if len(files) > 1 else None)
        sources += [file] * (len(reasons) - len(sources))
    check_categories(reasons, lambda place: str(sources[place]))
    found = summary_of(reasons, encoder, seed, tell)
    return found._replace(files={str(file): fingerprint(file) for file in files})


def summary_of(
    reasons: Sequence[Reasons], encoder: str = "embedded", seed: int = 0, tell: Tell = lambda what: None
) -> Summary:
    """Summary of what was said of reports; see `summarize`.

    Raises:
        InputError: If no report was answered, or there is no such encoder.
    """
    kinds = kinds_of(reasons)
    if not kinds:
        why = readings_of(reasons).unscored
        first = f"; the first of {len(reasons)} reports: {next(iter(why))}" if why else ""
        raise InputError(f"summary: Expected at least one report that a model answered but there is none{first}.")
    by_system: dict[str | None, list[Reasons]] = {}
    for entry in reasons:
        by_system.setdefault(entry.system, []).append(entry)
    figures = {system: {kind: figures_of(part, kind) for kind in kinds} for system, part in by_system.items()}
    every = [sentence for each in figures.values() for found in each.values() for _, sentence in found.said]
    vectors, cut = embed(every, encoder, tell)
    made = []
    for system, part in by_system.items():
        categories = []
        for kind, found in figures[system].items():
            tell(f"errors that are alike: {kind.key.replace('_', ' ')}{f' ({system})' if system else ''}")
            categories.append(_category(kind, found, vectors, seed))
        made.append(SystemSummary(system, readings_of(part), tuple(categories)))
    tell("plot of the errors")
    said = [
        (system, kind.tag, *error)
        for system, each in figures.items()
        for kind, found in each.items()
        for error in found.said
        if kind.significant
    ]
    plot = lay_out([sentence for *_, sentence in said], vectors, seed)
    score = "GREEN" if is_green(reasons) else "Total"
    return Summary(score, tuple(made), tuple(_points(said, plot)), plot, encoder, seed, cut, {})


def embed(
    sentences: Sequence[str], encoder: str = "embedded", tell: Tell = lambda what: None
) -> tuple[dict[str, NDArray[np.float64]], int]:
    """The embedding of each different sentence, and of how many only the beginning was read.

    Raises:
        InputError: If there is no such encoder.
    """
    different = sorted(set(sentences))
    if not different:
        return {}, 0
    from radreward.systems.ratescore.encoder import EntityEncoder

    model = EntityEncoder(encoder, max_length=LONGEST, cache=1)
    found: dict[str, NDArray[np.float64]] = {}
    cut, rest = 0, iter(different)
    while chunk := list(islice(rest, CHUNK)):
        tell(f"meaning of errors: {len(found)} of {len(different)} different ones")
        embedded = model.embed(chunk)
        found |= zip(chunk, embedded.vectors.double().numpy(), strict=True)
        cut += sum(embedded.cut)
    return found, cut


def _category(kind: ErrorKind, found: Figures, vectors: Mapping[str, NDArray[np.float64]], seed: int) -> Category:
    clusters = find_clusters(found.said, vectors, seed)
    figures = found.n, found.unread, found.accuracy, found.errors, found.total
    return Category(kind.tag, kind.significant, *figures, len(found.said), tuple(clusters))


def _points(said: Sequence[tuple[str | None, str, str, str]], plot: Layout) -> list[Point]:
    """Points of (system, tag, report, sentence), those that are laid out."""
    points: dict[tuple[str | None, str, str], Point] = {}
    for system, tag, id_, sentence in said:
        if sentence in plot.places:
            key = system, tag, sentence
            before = points.get(key) or Point(*plot.places[sentence], tag, system, sentence, 0, id_)
            points[key] = before._replace(times=before.times + 1)
    return list(points.values())
