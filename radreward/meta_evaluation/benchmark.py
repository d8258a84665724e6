"""Benchmark: agreement of scorers with raters on rated pairs and preferences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from radreward.io.artifacts import file_fingerprint
from radreward.io.numbers import finite_or_none
from radreward.io.progress import ProgressReporter
from radreward.llm import ChatModel
from radreward.meta_evaluation.direct_preferences import DIRECT_COMPARISON, directly_preferred
from radreward.meta_evaluation.preferences import Floats, Preference
from radreward.meta_evaluation.rated_pairs import RatedPair, RatedPairs
from radreward.meta_evaluation.result_rows import (
    RESULTS_FORMAT,
    SECTIONS,
    BenchmarkArrays,
    preference_rows,
    scorer_row,
    target_row,
)
from radreward.meta_evaluation.score_cache import CachedScore, ScoredTexts, pair_key
from radreward.meta_evaluation.scorer_runner import SCORES_FILE, ScorerRun, run_scorer
from radreward.meta_evaluation.statistics.scorer_comparisons import N_PERMUTATIONS
from radreward.scorers.base import Scorer
from radreward.scorers.status import STATUS_OK


class BenchmarkSettings(NamedTuple):
    """Settings of a benchmark. Results depend only on the settings, the data and the scorers."""

    n_resamples: int = 1_000
    """Bootstrap resamples of cases."""
    seed: int = 0
    """Seed of bootstrap and permutations."""
    n_permutations: int = N_PERMUTATIONS
    """Maximum number of permutations per comparison of two scorers."""


class BenchmarkResult:
    """Statistics of a benchmark, and the scores from which they are computed.

    Args:
        pairs: The rated pairs.
        scorer_runs: Run of each scorer on the pairs.
        settings: Settings of the statistics.
        files: Path of each data file → its sha256.
        preferences: Preferences between candidates.
        preference_runs: Run of each scorer on all first candidates of the preferences, then on all second candidates.
        direct: Verdicts of a language model on the preferences, see `directly_preferred`.
        on_progress: Called with the name of the section being computed.

    Attributes:
        sections: Sections of `results.json` by name.
    """

    def __init__(
        self,
        pairs: RatedPairs,
        scorer_runs: Sequence[ScorerRun],
        settings: BenchmarkSettings | None = None,
        files: Mapping[str, str] | None = None,
        preferences: Sequence[Preference] = (),
        preference_runs: Sequence[ScorerRun] = (),
        on_progress: Callable[[str], None] = lambda section: None,
        direct: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.pairs, self.scorer_runs, self.preference_runs = pairs, list(scorer_runs), list(preference_runs)
        self.settings, self.files = settings or BenchmarkSettings(), dict(files or {})
        succeeded = [run for run in scorer_runs if run.failure is None]
        arrays = BenchmarkArrays(pairs, succeeded, *self.settings)
        self.sections: dict[str, Any] = {}
        for name, compute in SECTIONS.items():
            on_progress(name.replace("_", " "))
            self.sections[name] = compute(arrays)
        names = {run.name for run in succeeded}
        runs = [run for run in preference_runs if run.name in names]
        n_resamples, seed = self.settings.n_resamples, self.settings.seed
        scores = {run.name: np.split(run.higher_is_better_totals, 2) for run in runs}
        if direct:
            scores[DIRECT_COMPARISON] = list(direct)
        self.sections["preferences"] = preference_rows(preferences, scores, n_resamples, seed)

    @property
    def succeeded(self) -> bool:
        """True if every scorer scored every pair."""
        runs = (*self.scorer_runs, *self.preference_runs)
        return not any(run.failure or run.unscored_reasons for run in runs)

    def to_dict(self) -> dict[str, Any]:
        """Return all results in the format of `results.json`."""
        pairs = self.pairs
        num_scorers = len({run.scorer for run in self.scorer_runs})
        return {
            "format": RESULTS_FORMAT,
            "title": f"Agreement of {_plural(num_scorers, 'metric')} with raters on {_plural(len(pairs), 'pair')}",
            "synthetic": pairs.num_synthetic > 0,
            "data": {
                "files": self.files,
                "pairs": len(pairs),
                "clusters": pairs.num_clusters,
                "systems": list(pairs.systems),
                "raters": list(pairs.raters),
                "notes": list(pairs.notes),
            },
            "targets": [target_row(target, self.sections["scorer_comparisons"]) for target in pairs.targets],
            "scorers": [scorer_row(run) for run in self.scorer_runs],
            **self.sections,
            "settings": {
                **self.settings._asdict(),
                "versions": {name: version(name) for name in ("radreward", "numpy", "scipy", "torch")},
            },
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row per pair in the format of `rows.jsonl`, reading scores from the cache."""
        targets = {target.name: target.values for target in self.pairs.targets}
        keys = [pair_key(row.reference, row.candidate, row.context) for row in self.pairs.rows]
        columns = [run.cache.read(keys) if run.cache else repeat(None) for run in self.scorer_runs]
        for index, row in enumerate(self.pairs.rows):
            values = {name: finite_or_none(column[index]) for name, column in targets.items()}
            yield self._row(row, values, [next(column) for column in columns])

    def _row(
        self, pair: RatedPair, targets: Mapping[str, float | None], scores: Sequence[CachedScore | None]
    ) -> dict[str, Any]:
        row: dict[str, Any] = {
            name: getattr(pair, name) for name in ("id", "group", "system", "reference", "candidate")
        }
        row["targets"] = targets
        row |= {name: {} for name in ("scores", "status", "sub_scores", "error_counts", "evidence")}
        for run, score in zip(self.scorer_runs, scores, strict=True):
            row["scores"][run.name] = score.output(run.output) if score else None
            if run.output != "total":
                continue
            if score is None or score.status != STATUS_OK:
                row["status"][run.name] = score.status if score else "the scorer failed"
            if score and score.sub_scores:
                row["sub_scores"][run.name] = dict(zip(run.sub_names, score.sub_scores, strict=True))
            if score and score.error_counts:
                row["error_counts"][run.name] = dict(zip(run.criteria, score.error_counts, strict=True))
            if score and score.evidence is not None:
                row["evidence"][run.name] = score.evidence
        return row


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def run_benchmark(
    pairs: RatedPairs,
    scorers: Mapping[str, Callable[[], Scorer]],
    output_dir: Path,
    settings: BenchmarkSettings | None = None,
    files: Sequence[Path] = (),
    preferences: Sequence[Preference] = (),
    progress: ProgressReporter | None = None,
    direct_judge: ChatModel | None = None,
) -> BenchmarkResult:
    """Run scorers on rated pairs and on the candidates of preferences, and compute the statistics.

    A scorer has one row per output: `NAME` for its total, `NAME:quality` and `NAME:errors`.

    Args:
        pairs: The rated pairs.
        scorers: Name → function that creates the scorer. Only one scorer is in memory at a time.
        output_dir: Folder of the score cache. Cached pairs are not scored again.
        settings: Settings of the statistics.
        files: Data files. Their sha256 is written to the results.
        preferences: Preferences between candidates.
        progress: Progress display.
        direct_judge: Language model that compares both candidates of each preference in one prompt.
    """

    def read_pairs() -> Iterator[ScoredTexts]:
        return (ScoredTexts(row.reference, row.candidate, row.context) for row in pairs.rows)

    def read_preferences() -> Iterator[ScoredTexts]:
        yield from (ScoredTexts(entry.reference, entry.candidate_a, entry.context_a) for entry in preferences)
        yield from (ScoredTexts(entry.reference, entry.candidate_b, entry.context_b) for entry in preferences)

    progress = progress or ProgressReporter(enabled=False)
    cache_path = output_dir / SCORES_FILE
    scorer_runs, preference_runs = [], []
    for name, load in scorers.items():
        load_once = cache(load)  # both runs share the scorer, which is released before the next is loaded
        task = progress.add_task(name, len(pairs) + 2 * len(preferences), unit="pairs")
        on_advance = partial(progress.advance, task)
        run = run_scorer(name, load_once, read_pairs, cache_path, on_advance)
        if preferences:
            preferred = run_scorer(name, load_once, read_preferences, cache_path, on_advance)
            run = replace(run, failure=run.failure or preferred.failure)
            preference_runs += preferred.outputs()
        scorer_runs += run.outputs()
    direct = directly_preferred(preferences, direct_judge) if direct_judge else None
    task = progress.add_task("statistics")
    hashes = {str(path): file_fingerprint(path) for path in files}
    on_progress = partial(progress.describe, task)
    return BenchmarkResult(pairs, scorer_runs, settings, hashes, preferences, preference_runs, on_progress, direct)
