from pathlib import Path
from typing import Any

import numpy as np
import pytest

from radreward.errors import InputError
from radreward.meta_evaluation.preferences import (
    Preference,
    preference_agreement,
    read_preferences,
    write_preferences,
)
from tests.meta_evaluation.written_rows import write_rows

ROW: dict[str, Any] = {
    "id": "a",
    "reference": "Clear.",
    "candidate_a": "Clear.",
    "candidate_b": "Effusion.",
    "preferred": "a",
}


def preference(name: str, preferred: Any, confidence: float | None = None, group: str | None = None) -> Preference:
    return Preference(
        id=name,
        reference="r",
        candidate_a="x",
        candidate_b="y",
        preferred=preferred,
        group=group or name,
        confidence=confidence,
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_read_preferences_returns_what_was_written(tmp_path: Path, name: str) -> None:
    preferences = [preference("a", "a", 7.5, "g"), preference("b", "neither", group="r")]
    write_preferences(tmp_path / name, preferences)
    assert read_preferences(tmp_path / name) == preferences


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preferred": "1"}, "field 'preferred': Expected 'a', 'b', 'equal' or 'neither' but got '1'"),
        ({"confidence": 11}, "field 'confidence': Expected a number from 1 to 10 but got 11"),
        ({"candidate_b": ""}, "field 'candidate_b': Expected a text that is not empty"),
        ({"id": "z"}, "field 'id': Expected a new id but 'z' is in row 1"),
    ],
)
def test_read_preferences_invalid_row_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write_rows(tmp_path / "a.jsonl", [ROW | {"id": "z"}, ROW | change])
    with pytest.raises(InputError, match=rf"a\.jsonl, row 2: {message}\.$"):
        read_preferences(path)


def test_preference_agreement_accuracy_per_confidence_band() -> None:
    preferences = [
        preference("a", "a", 9),
        preference("b", "b", 10),
        preference("c", "a", 2),
        preference("d", "neither", 2),  # left out
        preference("e", "a"),
        preference("f", "a", 6),  # one candidate has no score
    ]
    scores_a, scores_b = np.array([1.0, 1, 1, 1, 2, np.nan]), np.array([0.0, 2, 1, 0, 1, 0])
    total, low, middle, high = preference_agreement(preferences, scores_a, scores_b, n_resamples=200)
    assert (total.confidence, total.n, total.accuracy, total.ties) == (None, 4, 0.75, 1)
    assert (total.unscored, total.neither) == (1, 1)
    assert (low.unscored, low.neither) == (0, 1)
    assert (low.confidence, low.n, low.accuracy) == ((1, 4), 1, 0)  # ties are errors
    assert (high.confidence, high.n, high.accuracy) == ((8, 10), 2, 1)
    assert (middle.n, middle.unscored) == (0, 1)
    assert total.low < 0.75 < total.high


def test_preference_agreement_preferences_of_a_case_are_resampled_together() -> None:
    scores_a, scores_b = np.array([0.0, 1.0] * 10), np.full(20, 0.5)
    separate, common = (
        preference_agreement([preference(str(n), "a", group=group(n)) for n in range(20)], scores_a, scores_b)[0]
        for group in (str, lambda n: str(n % 2))
    )
    assert (common.low, common.high) == (0, 1)
    assert 0.2 < separate.low < separate.high < 0.8


def test_preference_agreement_equal_candidates_need_nearly_equal_scores() -> None:
    preferences = [
        preference("a", "equal", group="g"),
        preference("b", "equal", group="h"),
        preference("c", "b", group="h"),
    ]
    [agreement] = preference_agreement(preferences, np.array([0.5, 0.5, 0.1]), np.array([0.505, 0.52, 0.2]), 0)
    assert (agreement.n, agreement.ties) == (3, 0)
    assert agreement.accuracy == pytest.approx(2 / 3)
    assert (agreement.cases, agreement.cases_passed) == (2, 1)


def test_preference_agreement_no_usable_preference_is_undefined() -> None:
    [agreement] = preference_agreement([preference("a", "neither")], np.ones(1), np.zeros(1))
    assert agreement.n == 0
    assert np.isnan([agreement.accuracy, agreement.low]).all()
