"""Conformance suite for scorers: each test passes a correct scorer and fails a faulty one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from radreward.errors import InputError
from radreward.scorers.base import Scorer
from radreward.scorers.lexical import ROUGE
from radreward.testing import ScorerConformance
from radreward.types import Scores


class Good(ROUGE):
    """A correct scorer; it is saved as a ROUGE scorer."""

    def __init__(self) -> None:
        super().__init__("1")


class Sorted(Good):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super()._score_valid(references, candidates)
        return scores._replace(total=scores.total.sort().values)


class ByNumberOfPairs(Good):
    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        totals = super().compute_totals(references, candidates)
        return [value / len(totals) for value in totals]


class EmptyIsZero(Good):
    def score(self, references: Iterable[str], candidates: Iterable[str], contexts: Any = None) -> Scores:
        scores = super().score(references, candidates)
        return scores._replace(total=scores.total.nan_to_num(0.0))


class AnyLength(Good):
    def score(self, references: Iterable[str], candidates: Iterable[str], contexts: Any = None) -> Scores:
        pairs = list(zip(references, candidates, strict=False))
        return super().score([reference for reference, _ in pairs], [candidate for _, candidate in pairs])


class ByLabel(Good):
    def score(self, references: Iterable[str], candidates: Iterable[str], contexts: Any = None) -> Scores:
        columns: list[Any] = [references, candidates]
        return super().score(*([column[label] for label in range(3)] for column in columns))


class WrongSign(Good):
    higher_is_better = False


class Constant(Good):
    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        return [1.0] * len(references)


class NarrowRange(Good):
    total_range = (0.0, 0.5)


class Random(Good):
    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        return torch.rand(len(references)).tolist()


class WrongSettings(Good):
    def settings(self) -> dict[str, Any]:
        return {"variant": "2"}


class IgnoresReferences(Good):
    def fit_references(self, references: Iterable[str]) -> Scorer:
        return Constant()


class WithQuality(Good):
    """A correct scorer whose quality is its total; it cannot be saved."""

    has_quality = True

    def save_pretrained(self, folder: str | Path) -> None:
        raise InputError("This scorer cannot be saved.")

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super()._score_valid(references, candidates)
        return scores._replace(quality=scores.total)


class MissingErrors(Good):
    has_errors = True


class UnannouncedQuality(WithQuality):
    has_quality = False


class MissingQuality(Good):
    has_quality = True


class QualityAboveOne(WithQuality):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super()._score_valid(references, candidates)
        return scores._replace(quality=scores.total + 1)


class SortedQuality(WithQuality):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super()._score_valid(references, candidates)
        return scores._replace(quality=scores.total.sort().values)


class ConstantQuality(WithQuality):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super()._score_valid(references, candidates)
        return scores._replace(quality=torch.ones(len(references)))


class IdenticalBelowOne(WithQuality):
    def score(self, references: Iterable[str], candidates: Iterable[str], contexts: Any = None) -> Scores:
        scores = super().score(references, candidates)
        return scores._replace(quality=scores.total * 0.9)


class LongIsBetter(WithQuality):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super()._score_valid(references, candidates)
        return scores._replace(quality=torch.tensor([len(text) / 1000 for text in candidates]))


class CountsSpaces(Good):
    def score(self, references: Iterable[str], candidates: Iterable[str], contexts: Any = None) -> Scores:
        candidates = list(candidates)
        scores = super().score(references, candidates)
        return scores._replace(total=scores.total + torch.tensor([float(len(text)) for text in candidates]))


FAULTS: list[tuple[Callable[[], Scorer], str]] = [
    (Sorted, "test_order_and_length_match_input"),
    (ByNumberOfPairs, "test_score_independent_of_other_pairs"),
    (EmptyIsZero, "test_empty_reports_get_status"),
    (CountsSpaces, "test_form_of_text_does_not_change_score"),
    (EmptyIsZero, "test_hostile_reports_get_score_or_status"),
    (ByLabel, "test_rows_are_read_by_position"),
    (AnyLength, "test_no_pairs_give_no_scores"),
    (WrongSign, "test_identical_reports_score_highest"),
    (Constant, "test_identical_reports_score_highest"),
    (MissingErrors, "test_errors_are_the_sum_of_the_error_counts"),
    (WrongSign, "test_better_candidates_score_better"),
    (IgnoresReferences, "test_better_candidates_score_better"),
    (NarrowRange, "test_scores_within_total_range"),
    (UnannouncedQuality, "test_quality_is_a_share_of_what_is_right"),
    (MissingQuality, "test_quality_is_a_share_of_what_is_right"),
    (QualityAboveOne, "test_quality_is_a_share_of_what_is_right"),
    (SortedQuality, "test_quality_is_a_share_of_what_is_right"),
    (ConstantQuality, "test_quality_is_a_share_of_what_is_right"),
    (IdenticalBelowOne, "test_quality_is_a_share_of_what_is_right"),
    (LongIsBetter, "test_false_findings_do_not_raise_quality"),
    (Random, "test_equal_scorers_score_equally"),
    (WrongSettings, "test_save_and_load_round_trip"),
]


class TestGood(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return ROUGE("1")


class TestWithQuality(ScorerConformance):
    can_save = False

    @staticmethod
    def scorer() -> Scorer:
        return WithQuality()


@pytest.mark.parametrize(("fault", "check"), FAULTS, ids=lambda value: getattr(value, "__name__", value))
def test_faulty_scorer_fails_its_check(fault: Callable[[], Scorer], check: str) -> None:
    suite = type("Suite", (ScorerConformance,), {"scorer": staticmethod(fault)})()
    with pytest.raises(AssertionError):
        getattr(suite, check)()


def test_every_check_has_a_faulty_class() -> None:
    checks = {name for name, _ in inspect.getmembers(ScorerConformance, inspect.isfunction) if name.startswith("test_")}
    assert checks == {check for _, check in FAULTS}
