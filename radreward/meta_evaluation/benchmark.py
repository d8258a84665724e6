"""Scorers against people: every scorer over every rated pair, and what the scores are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from radreward.data.records import fingerprint
from radreward.meta_evaluation import result_rows as figures
from radreward.meta_evaluation.preferences import Preference
from radreward.meta_evaluation.progress import BenchProgress
from radreward.meta_evaluation.rated_pairs_io import RatedPairs
from radreward.meta_evaluation.score_cache import text_key
from radreward.meta_evaluation.scorer_runner import Scored, score_pairs
from radreward.scorers.base import OK, Scorer

FORMAT = 1


class Settings(NamedTuple):
    """What figures depend on beside data and scorers."""

    draws: int = 1000
    """Draws of cases for intervals and tests."""
    seed: int = 0
    """Of the draws."""


class Bench:
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
        scored: Sequence[Scored],
        settings: Settings | None = None,
        files: Mapping[str, str] | None = None,
        preferences: Sequence[Preference] = (),
        preferred: Sequence[Scored] = (),
        tell: Callable[[str], None] = lambda what: None,
    ) -> None:
        self.pairs, self.scored, self.preferred = pairs, list(scored), list(preferred)
        self.settings, self.files, self.preferences = settings or Settings(), dict(files or {}), preferences
        self.good = [one for one in scored if one.reason is None]
        table = figures.Table.of(pairs, self.good, *self.settings)
        self.figures: dict[str, list[dict[str, Any]] | dict[str, Any]] = {}
        for name, make in figures.SECTIONS.items():
            tell(name.replace("_", " "))
            self.figures[name] = make(table)
        self.figures["preferences"] = figures.preference_rows(
            preferences, [one for one in preferred if one.name in {good.name for good in self.good}], *self.settings
        )

    def as_dict(self) -> dict[str, Any]:
        """All figures, as results.json has them."""
        pairs = self.pairs
        return {
            "format": FORMAT,
            "title": f"{len(self.scored)} metrics against people: {len(pairs)} pairs",
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
            "scorers": [figures.scorer_row(one) for one in self.scored],
            **self.figures,
            "settings": {
                "bootstrap": self.settings.draws,
                "seed": self.settings.seed,
                "versions": {name: version(name) for name in ("radreward", "numpy", "scipy", "torch")},
            },
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """One for each pair, in their order, as rows.jsonl has them; read from where scores are remembered."""
        targets = {target.name: target.values for target in self.pairs.targets}
        for place, row in enumerate(self.pairs.rows):
            key = text_key(row.reference, row.candidate)
            told: dict[str, dict[str, Any]] = {name: {} for name in ("scores", "status", "sub", "counts", "evidence")}
            for one in self.scored:
                found = one.scores.get(key) if one.scores else None
                told["scores"][one.name] = found.total if found else None
                if found is None or found.status != OK:
                    told["status"][one.name] = found.status if found else "the scorer failed"
                if found and found.sub:
                    told["sub"][one.name] = dict(zip(one.sub_names, found.sub, strict=True))
                if found and found.counts:
                    told["counts"][one.name] = dict(zip(one.criteria, found.counts, strict=True))
                if found and found.evidence is not None:
                    told["evidence"][one.name] = found.evidence
            yield {
                **{name: getattr(row, name) for name in ("id", "group", "system", "reference", "candidate")},
                "targets": {name: figures.number(float(values[place])) for name, values in targets.items()},
                **told,
            }


def benchmark(
    pairs: RatedPairs,
    scorers: Mapping[str, Callable[[], Scorer]],
    folder: Path,
    settings: Settings | None = None,
    files: Sequence[Path] = (),
    preferences: Sequence[Preference] = (),
    progress: BenchProgress | None = None,
) -> Bench:
    """Run scorers over rated pairs, and over the candidates of preferences; see `Bench`.

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
    of_preferences = [(entry.reference, entry.one) for entry in preferences]
    of_preferences += [(entry.reference, entry.other) for entry in preferences]
    scored, preferred = [], []
    for name, load in scorers.items():
        make = cache(load)  # both go over one scorer, which then makes room for the next
        if progress:
            progress.begin(name, len(texts) + len(of_preferences))
        advance = partial(progress.advance, name) if progress else lambda pairs: None
        scored.append(score_pairs(name, make, texts, folder / "scores", advance))
        if preferences:
            preferred.append(score_pairs(name, make, of_preferences, folder / "scores", advance))
            scored[-1] = scored[-1]._replace(reason=scored[-1].reason or preferred[-1].reason)
    hashes = {str(path): fingerprint(path) for path in files}
    return Bench(
        pairs, scored, settings, hashes, preferences, preferred, progress.tell if progress else lambda what: None
    )
