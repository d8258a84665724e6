import json
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

ROW: dict[str, Any] = {"id": "a", "reference": "Clear.", "one": "Clear.", "other": "Effusion.", "preferred": "one"}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    entries = [Preference("a", "r", "x", "y", "one", "g", 7.5), Preference("b", "r", "x", "y", "neither", "r")]
    write_preferences(tmp_path / name, entries)
    assert read_preferences(tmp_path / name) == entries


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preferred": "1"}, "field 'preferred': expected 'one', 'other' or 'neither' but got '1'"),
        ({"confidence": 11}, "field 'confidence': expected a number from 1 to 10 but got 11"),
        ({"other": ""}, "field 'other': expected a text that is not empty"),
        ({"id": "z"}, "field 'id': expected a new id but 'z' is in row 1"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "a.jsonl", ROW | {"id": "z"}, ROW | change)
    with pytest.raises(InputError, match=rf"a\.jsonl, row 2: {message}\.$"):
        read_preferences(path)


def preference(name: str, preferred: Any, confidence: float | None = None) -> Preference:
    return Preference(name, "r", "x", "y", preferred, name, confidence)


def test_accuracy_by_confidence() -> None:
    entries = [
        preference("a", "one", 9),
        preference("b", "other", 10),
        preference("c", "one", 2),
        preference("d", "neither", 2),  # nothing can be right
        preference("e", "one"),
        preference("f", "one", 6),  # one side has no score
    ]
    one, other = np.array([1.0, 1, 1, 1, 2, np.nan]), np.array([0.0, 2, 1, 0, 1, 0])
    everything, unsure, middle, sure = preference_agreement(entries, one, other, n_resamples=200)
    assert (everything.confidence, everything.n, everything.accuracy, everything.ties) == (None, 4, 0.75, 1)
    assert (everything.unscored, everything.neither) == (1, 1)
    assert (unsure.unscored, unsure.neither) == (0, 1)
    assert (unsure.confidence, unsure.n, unsure.accuracy) == ((1, 4), 1, 0)  # equal scores are not right
    assert (sure.confidence, sure.n, sure.accuracy) == ((8, 10), 2, 1)
    assert (middle.n, middle.unscored) == (0, 1)
    assert everything.low < 0.75 < everything.high


def test_preferences_of_a_case_are_drawn_together() -> None:
    alone = [preference(str(n), "one") for n in range(20)]
    one = np.array([0.0, 1.0] * 10)
    apart = preference_agreement(alone, one, np.full(20, 0.5))[0]
    together = preference_agreement(
        [entry._replace(group=str(place % 2)) for place, entry in enumerate(alone)], one, np.full(20, 0.5)
    )[0]
    assert (together.low, together.high) == (0, 1)
    assert 0.2 < apart.low < apart.high < 0.8


def test_no_usable_preference_is_not_defined() -> None:
    [found] = preference_agreement([preference("a", "neither")], np.ones(1), np.zeros(1))
    assert found.n == 0
    assert np.isnan([found.accuracy, found.low]).all()
