"""The ranking tests written by hand, and the shipped reward model on them."""

from collections import Counter
from pathlib import Path

import pytest

from radreward.meta_evaluation.preferences import Preference, preference_agreement, read_preferences
from radreward.scorers import load

FOLDER = Path(__file__).parents[1] / "experiments" / "ranking_tests"
FILES = ("first", "second")


def _read(name: str) -> list[Preference]:
    return read_preferences(FOLDER / f"{name}.jsonl")


def test_files_have_the_same_kinds_and_no_case_twice() -> None:
    kinds = [{entry.group.rpartition("-")[0] for entry in _read(name)} for name in FILES]
    assert kinds[0] == kinds[1]
    assert len(kinds[0]) == 13
    cases = Counter(group for name in FILES for group in {entry.group for entry in _read(name)})
    assert len(cases) == 125
    assert set(cases.values()) == {1}


def test_rare_wording_has_40_pairs_of_four_kinds_and_most_totals_rank_as_written() -> None:
    preferences = _read("rare")
    assert len({entry.group for entry in preferences}) == len(preferences) == 40
    assert {entry.group.rpartition("-")[0] for entry in preferences} == {"denied", "sign", "plain", "disease"}
    scorer, references = load("er2score"), [entry.reference for entry in preferences]
    totals = [
        scorer.score(references, [getattr(entry, f"candidate_{side}") for entry in preferences]).total for side in "ab"
    ]
    assert (totals[0] > totals[1]).sum() >= 28


@pytest.mark.parametrize("name", FILES)
def test_quality_of_the_shipped_model_ranks_as_written(name: str) -> None:
    preferences = _read(name)
    scorer = load("er2score")
    scores = [
        scorer.score(
            [entry.reference for entry in preferences],
            [getattr(entry, f"candidate_{side}") for entry in preferences],
            [getattr(entry, f"context_{side}") for entry in preferences],
        ).quality
        for side in "ab"
    ]
    first, second = (values.double().numpy() for values in scores if values is not None)
    agreement = preference_agreement(preferences, first, second, n_resamples=0)[0]
    assert agreement.n == len(preferences)
    assert agreement.accuracy >= 0.85
