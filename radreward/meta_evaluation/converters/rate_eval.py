"""RaTE-Eval (RaTEScore, section 3) as rated pairs and preferences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from radreward.meta_evaluation import rate_eval
from radreward.meta_evaluation.preferences import Preference
from radreward.meta_evaluation.rated_pairs_io import MEAN_RATER, RatedPair


def read_sentence_task(source: Path) -> Iterator[RatedPair]:
    """Task 1: the rating is 1 - normalised count of errors."""
    yield from _rated_pairs(rate_eval.read_rated_sentences(source))


def read_paragraph_task(source: Path) -> Iterator[RatedPair]:
    """Task 2: ratings from 0 to 5."""
    yield from _rated_pairs(rate_eval.read_paragraphs(source))


def read_triad_task(source: Path) -> Iterator[Preference]:
    """Task 3: the same in other words is preferred to the opposite."""
    for number, triad in enumerate(rate_eval.read_triads(source), 1):
        yield Preference(str(number), triad.original, triad.rewrite, triad.opposite, "one", triad.original)


def _rated_pairs(entries: list[rate_eval.RatedText]) -> Iterator[RatedPair]:
    own: dict[str, str] = {}
    for number, entry in enumerate(entries, 1):
        group = own.setdefault(entry.reference, str(number))
        yield RatedPair(str(number), entry.reference, entry.candidate, group, None, {MEAN_RATER: entry.rating})
