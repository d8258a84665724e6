"""The suite for scorers accepts a good one and refuses each fault."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
import torch

from radreward.scorers.base import Scorer
from radreward.scorers.lexical import ROUGE
from radreward.testing import ScorerConformance
from radreward.types import Scores


class Good(ROUGE):
    """Saved, it is a ROUGE, which scores alike."""

    def __init__(self) -> None:
        super().__init__("1")


class Sorted(Good):
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super()._score_valid(references, candidates)
        return scores._replace(total=scores.total.sort().values)


class ByItsNeighbours(Good):
    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        found = super().compute_totals(references, candidates)
        return [value / len(found) for value in found]


class EmptyIsZero(Good):
    def score(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super().score(references, candidates)
        return scores._replace(total=scores.total.nan_to_num(0.0))


class AnyLength(Good):
    def score(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        length = min(len(references), len(candidates))
        return super().score(references[:length], candidates[:length])


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


class OtherWhenLoaded(Good):
    def settings(self) -> dict[str, Any]:
        return {"variant": "2"}


class ForgetsTheRun(Good):
    def fit_references(self, references: Iterable[str]) -> Scorer:
        return Constant()


FAULTS: list[tuple[Callable[[], Scorer], str]] = [
    (Sorted, "test_order_and_length_of_the_input"),
    (ByItsNeighbours, "test_a_pair_is_scored_by_itself"),
    (EmptyIsZero, "test_rows_that_cannot_be_scored"),
    (AnyLength, "test_nothing_to_score"),
    (WrongSign, "test_identical_reports_are_on_top"),
    (Constant, "test_identical_reports_are_on_top"),
    (WrongSign, "test_better_candidates_score_better"),
    (ForgetsTheRun, "test_better_candidates_score_better"),
    (NarrowRange, "test_scores_are_in_range"),
    (Random, "test_the_same_again"),
    (OtherWhenLoaded, "test_saved_and_loaded"),
]


class TestGood(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return ROUGE("1")


@pytest.mark.parametrize(("fault", "check"), FAULTS, ids=lambda value: getattr(value, "__name__", value))
def test_every_check_refuses_its_fault(fault: Callable[[], Scorer], check: str) -> None:
    suite = type("Suite", (ScorerConformance,), {"scorer": staticmethod(fault)})()
    with pytest.raises(AssertionError):
        getattr(suite, check)()


def test_every_check_has_a_fault() -> None:
    checks = {name for name, _ in inspect.getmembers(ScorerConformance, inspect.isfunction) if name.startswith("test_")}
    assert checks == {check for _, check in FAULTS}
