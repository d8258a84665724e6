"""Outputs of scorers: the table, and the definition of the number of errors."""

import math
from collections.abc import Sequence
from typing import get_args

import pytest
import torch

from radreward.criteria import Criteria, Criterion
from radreward.errors import InputError
from radreward.score_outputs import OUTPUTS, ScoreOutput, check_score_output, output_name
from radreward.scorers.lexical import ROUGE
from radreward.scorers.status import STATUS_OK
from radreward.types import Scores

REPORT = "Small left effusion. No edema."
COUNTS = ([1.25, 0.5, 4.0], [math.nan, 0.5, 4.0], [0.0, 0.0, 5.0])


class _Counting(ROUGE):
    """A scorer with fixed counts of two kinds of errors of different weights, and a rating."""

    criteria = Criteria(
        "three",
        [
            Criterion("omission", "Missing.", weight=9.0),
            Criterion("grammar", "Wrong.", "binary"),
            Criterion("style", "Good.", "rating"),
        ],
    )

    def __init__(self) -> None:
        super().__init__("1")

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        counts = torch.tensor(COUNTS)[: len(references)].reshape(len(references), 3)
        total = torch.tensor([math.nan if "unreadable" in text else 1.0 for text in candidates])
        return Scores(total, None, counts, (STATUS_OK,) * len(references))


class _Distance(ROUGE):
    """A scorer that counts errors without criteria."""

    has_errors = True

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        total = torch.zeros(len(references))
        return Scores(total, None, None, (STATUS_OK,) * len(references), errors=total + 2.5)


def test_the_table_has_every_output_of_the_type_and_each_is_a_field_of_scores() -> None:
    assert tuple(OUTPUTS) == get_args(ScoreOutput)
    assert set(OUTPUTS) <= set(Scores._fields)


def test_check_score_output_names_the_outputs() -> None:
    with pytest.raises(ValueError, match="to be total, quality, errors but got 'best'"):
        check_score_output("best")
    assert output_name("green", "quality") == "green:quality"


def test_errors_are_the_unweighted_sum_of_counts_without_ratings() -> None:
    scores = _Counting().score([REPORT] * 3, [REPORT] * 3)
    assert scores.errors is not None
    assert scores.errors.tolist() == [1.75, pytest.approx(math.nan, nan_ok=True), 0.0]
    assert scores.to_pandas().columns.tolist()[:2] == ["total", "errors"]


def test_a_row_without_a_score_has_no_errors() -> None:
    errors = _Counting().score([REPORT] * 3, ["", "unreadable", REPORT]).errors
    assert errors is not None
    assert errors.isnan().tolist() == [True, True, True]  # the third row has an unknown count


def test_a_scorer_without_criteria_states_its_errors_itself() -> None:
    scorer = _Distance("1")
    assert scorer.outputs == ("total", "errors")
    scores = scorer.score([REPORT, ""], [REPORT, REPORT])
    assert scores.errors is not None
    assert scores.errors[0] == 2.5
    assert scores.errors[1].isnan()
    assert scorer.higher_is_better_output(scores, "errors")[0] == -2.5


def test_ratings_alone_and_scorers_that_count_nothing_have_no_errors() -> None:
    class Rating(_Counting):
        criteria = Criteria("one", [Criterion("style", "Good.", "rating")])

    assert Rating().outputs == ("total",)
    assert ROUGE("1").outputs == ("total",)
    with pytest.raises(InputError, match="Expected a scorer with the output errors but it has only total"):
        ROUGE("1").require_output("errors")
    with pytest.raises(InputError, match="Expected scores with errors but got none"):
        _Distance("1").output_values(ROUGE("1").score([REPORT], [REPORT]), "errors")
