"""Scorers against people: every scorer over every rated pair, and what the scores are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from radreward.data.records import file_fingerprint
from radreward.meta_evaluation import result_rows as figures
from radreward.meta_evaluation.preferences import Preference
from radreward.meta_evaluation.progress import BenchProgress
from radreward.meta_evaluation.rated_pairs_io import RatedPairs
from radreward.meta_evaluation.score_cache import pair_key
from radreward.meta_evaluation.scorer_runner import ScorerRun, score_pairs
from radreward.scorers.base import STATUS_OK, Scorer

FORMAT_VERSION = 1


class BenchmarkSettings(NamedTuple):
    """What figures depend on beside data and scorers."""

    n_resamples: int = 1000
    """Draws of cases for intervals and tests."""
    seed: int = 0
    """Of the draws."""


class BenchmarkResult:
    """What came out: figures, and everything that scorers said.

    Args:
        pairs: The rated pairs.
        scored: What became of each scorer.
        settings: What figures depend on.
        files: Where the data come from, with their sha256.
        preferences: Preferences, if there are any.
        preferred: What became of each scorer on their candidates, the first ones and then the others.
        tell: Called with what is being computed.

    Attributes:
        figures: As in `results.json`, by name.
    """

    def __init__(
        self,
        pairs: RatedPairs,
        scorer_runs: Sequence[ScorerRun],
        settings: BenchmarkSettings | None = None,
        files: Mapping[str, str] | None = None,
        preferences: Sequence[Preference] = (),
        preference_runs: Sequence[ScorerRun] = (),
        on_progress: Callable[[str], None] = lambda what: None,
    ) -> None:
        self.pairs, self.scorer_runs, self.preference_runs = pairs, list(scorer_runs), list(preference_runs)
        self.settings, self.files, self.preferences = settings or BenchmarkSettings(), dict(files or {}), preferences
        self.succeeded = [one for one in scorer_runs if one.failure is None]
        table = figures.BenchmarkArrays.from_pairs(pairs, self.succeeded, *self.settings)
        self.sections: dict[str, list[dict[str, Any]] | dict[str, Any]] = {}
        for name, make in figures.SECTIONS.items():
            on_progress(name.replace("_", " "))
            self.sections[name] = make(table)
        self.sections["preferences"] = figures.preference_rows(
            preferences,
            [one for one in preference_runs if one.name in {good.name for good in self.succeeded}],
            *self.settings,
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, as results.json has them."""
        pairs = self.pairs
        return {
            "format": FORMAT_VERSION,
            "title": f"{len(self.scorer_runs)} metrics against people: {len(pairs)} pairs",
            "synthetic": any(row.synthetic for row in pairs.rows),
            "data": {
                "files": self.files,
                "pairs": len(pairs),
                "cases": len({row.group for row in pairs.rows}),
                "systems": list(pairs.systems),
                "raters": list(pairs.raters),
                "notes": list(pairs.notes),
            },
            "targets": [figures.target_row(target) for target in pairs.targets],
            "scorers": [figures.scorer_row(one) for one in self.scorer_runs],
            **self.sections,
            "settings": {
                "bootstrap": self.settings.n_resamples,
                "seed": self.settings.seed,
                "versions": {name: version(name) for name in ("radreward", "numpy", "scipy", "torch")},
            },
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """One for each pair, in their order, as rows.jsonl has them; read from where scores are remembered."""
        targets = {target.name: target.values for target in self.pairs.targets}
        for place, row in enumerate(self.pairs.rows):
            key = pair_key(row.reference, row.candidate)
            told: dict[str, dict[str, Any]] = {name: {} for name in ("scores", "status", "sub", "counts", "evidence")}
            for one in self.scorer_runs:
                found = one.cache.get(key) if one.cache else None
                told["scores"][one.name] = found.total if found else None
                if found is None or found.status != STATUS_OK:
                    told["status"][one.name] = found.status if found else "the scorer failed"
                if found and found.sub_scores:
                    told["sub"][one.name] = dict(zip(one.sub_names, found.sub_scores, strict=True))
                if found and found.error_counts:
                    told["counts"][one.name] = dict(zip(one.criteria, found.error_counts, strict=True))
                if found and found.evidence is not None:
                    told["evidence"][one.name] = found.evidence
            yield {
                **{name: getattr(row, name) for name in ("id", "group", "system", "reference", "candidate")},
                "targets": {name: figures.finite_or_none(float(values[place])) for name, values in targets.items()},
                **told,
            }


def benchmark(
    pairs: RatedPairs,
    scorers: Mapping[str, Callable[[], Scorer]],
    output_dir: Path,
    settings: BenchmarkSettings | None = None,
    files: Sequence[Path] = (),
    preferences: Sequence[Preference] = (),
    progress: BenchProgress | None = None,
) -> BenchmarkResult:
    """Run scorers over rated pairs, and over the candidates of preferences; see `BenchmarkResult`.

    Args:
        pairs: What people made of the candidates.
        scorers: What makes each scorer, by its name; they are made one after the other.
        folder: Its folder `scores` remembers everything that was scored: what is there is not scored again.
        settings: What figures depend on.
        files: Of the data, for their sha256.
        preferences: Which of two candidates people prefer.
        progress: Is told how far it is.
    """
    texts = [(row.reference, row.candidate) for row in pairs.rows]
    of_preferences = [(entry.reference, entry.candidate_a) for entry in preferences]
    of_preferences += [(entry.reference, entry.candidate_b) for entry in preferences]
    scored, preferred = [], []
    for name, load in scorers.items():
        make = cache(load)  # both go over one scorer, which then makes room for the next
        if progress:
            progress.begin(name, len(texts) + len(of_preferences))
        advance = partial(progress.advance, name) if progress else lambda pairs: None
        scored.append(score_pairs(name, make, texts, output_dir / "scores", advance))
        if preferences:
            preferred.append(score_pairs(name, make, of_preferences, output_dir / "scores", advance))
            scored[-1] = scored[-1]._replace(failure=scored[-1].failure or preferred[-1].failure)
    hashes = {str(path): file_fingerprint(path) for path in files}
    return BenchmarkResult(
        pairs, scored, settings, hashes, preferences, preferred, progress.tell if progress else lambda what: None
    )
