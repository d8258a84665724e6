"""Criteria: scoring rules, presets, validation and YAML files."""

import math
from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import (
    Criteria,
    CriteriaError,
    CriteriaFromYAML,
    Criterion,
    MRScoreCriteria,
    RadCliQCriteria,
    RadCliQSignificanceCriteria,
    RatingCriteria,
    load_criteria,
)

SIX = (
    *("false_prediction", "omission", "incorrect_location", "incorrect_severity"),
    *("incorrect_comparison", "omission_of_comparison"),
)
GOOD = {"name": "mine", "criteria": [{"name": "tone", "description": "Rude."}]}


def test_radcliq_total_is_negative_sum_of_counts() -> None:
    criteria = RadCliQCriteria()
    assert criteria.tags == SIX
    errors = torch.tensor([[2.0, 1, 0, 0, 3, 0]])
    assert criteria.total(criteria.target_rewards(errors)).tolist() == [-6.0]


def test_significance_weights_insignificant_errors() -> None:
    criteria = RadCliQSignificanceCriteria(insignificant_weight=0.5)
    assert criteria.tags == tuple(f"{kind}_{tag}" for kind in ("significant", "insignificant") for tag in SIX)
    errors = {tag: 1.0 if tag.endswith("_omission") else 0.0 for tag in criteria.tags}
    assert criteria.total(criteria.target_rewards(criteria.to_tensor(errors))).item() == -1.5
    assert RadCliQSignificanceCriteria().weights.tolist() == [1.0] * 6 + [0.25] * 6


def test_mrscore_subtracts_published_weights_from_100() -> None:
    criteria = MRScoreCriteria()
    assert criteria.total(criteria.target_rewards(torch.ones(7))).item() == 0.0
    assert criteria.total(criteria.target_rewards(torch.tensor([1.0, 0, 0, 0, 0, 0, 1]))).item() == 65.0


@given(st.lists(st.floats(0, 50), min_size=6, max_size=6))
def test_errors_inverts_target_rewards(values: list[float]) -> None:
    criteria = RadCliQCriteria()
    errors = torch.tensor(values)
    torch.testing.assert_close(criteria.errors(criteria.target_rewards(errors)), errors)


def test_rating_total_equals_rating() -> None:
    criteria = RatingCriteria()
    targets = criteria.target_rewards(criteria.to_tensor({"rating": 4.5}))
    assert criteria.total(targets).item() == 4.5
    assert criteria.errors(targets).tolist() == [4.5]
    assert criteria.weighted_errors({"rating": 4.5}) == -4.5
    assert Criteria.from_dict(criteria.to_dict()) == criteria
    mixed = Criteria("mixed", [Criterion("tone", "Rude.", weight=2), Criterion("taste", "Liked.", "rating", 3)])
    errors = torch.tensor([[1.0, 4.0], [0.0, 2.0]])
    assert mixed.total(mixed.target_rewards(errors)).tolist() == [10.0, 6.0]
    assert torch.equal(mixed.errors(mixed.target_rewards(errors)), errors)


def test_errors_of_zero_weight_criterion_are_zero() -> None:
    criteria = Criteria("free", [Criterion("tone", "Rude.", weight=0)])
    assert criteria.errors(torch.tensor([0.0])).tolist() == [0.0]


def test_to_dict_round_trip() -> None:
    for criteria in (RadCliQCriteria(), RadCliQSignificanceCriteria(0.1), MRScoreCriteria()):
        assert Criteria.from_dict(yaml.safe_load(yaml.safe_dump(criteria.to_dict()))) == criteria


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"criteria": []}, "at least one"),
        ({"criteria": "tone"}, "list of criteria"),
        ({"criteria": [3]}, "criterion 1 to be a mapping"),
        ({"criteria": [{"name": "tone"}]}, "criterion 1 to have a description"),
        ({"criteria": [{"name": "", "description": "x"}]}, "name of criterion 1"),
        ({"criteria": [{"name": "1st", "description": "x"}]}, "start with a letter"),
        ({"criteria": [{"name": "tone", "description": "x", "kind": "odd"}]}, "count, binary or rating but got 'odd'"),
        ({"criteria": [{"name": "tone", "description": "x", "weight": -1}]}, ">= 0 but got -1"),
        (
            {"criteria": [{"name": "tone", "description": "x", "weight": math.nan}]},
            "Expected .* to be a number of at most 1,000,000",
        ),
        ({"criteria": [{"name": "tone", "description": "x", "wait": 1}]}, "'wait'"),
        ({"criteria": [{"name": "a b", "description": "x"}, {"name": "A-B", "description": "y"}]}, "twice"),
        ({"criteria": [{"name": "Total", "description": "x"}]}, "no criterion of 'mine' to be named 'total'"),
        ({"max_total": "ten"}, "max_total"),
        ({"name": None}, "`name`"),
        ({"weights": 1}, "'weights'"),
    ],
)
def test_invalid_criteria_raise_with_name(change: dict[str, object], message: str) -> None:
    with pytest.raises(CriteriaError, match=message):
        Criteria.from_dict({**GOOD, **change})


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ({"tone": 1, "pitch": 1}, "unknown criterion 'pitch'; mine has tone"),
        ({}, "no value for criterion 'tone'"),
        ({"tone": -1}, "Expected a finite number >= 0 for criterion 'tone' but got -1"),
        ({"tone": math.nan}, "but got nan"),
        ({"tone": "many"}, "but got 'many'"),
    ],
)
def test_invalid_errors_raise_with_tag(errors: dict[str, float], message: str) -> None:
    with pytest.raises(CriteriaError, match=message):
        Criteria.from_dict(GOOD).to_tensor(errors)


def test_binary_errors_must_be_0_or_1() -> None:
    with pytest.raises(CriteriaError, match="Expected 0 or 1"):
        MRScoreCriteria().to_tensor(dict.fromkeys(MRScoreCriteria().tags, 2.0))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name: [", "Expected YAML but"),
        (b"\xff\xfe\xfa", "Expected YAML in UTF-8"),
        (b"- 1", "Expected criteria to be a mapping"),
        (b"name: x", "`criteria`"),
    ],
)
def test_invalid_file_raises_with_path(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    with pytest.raises(CriteriaError, match=rf"mine\.yaml.*{message}"):
        CriteriaFromYAML(str(path))


def test_load_criteria_accepts_presets_and_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(GOOD))
    assert load_criteria(str(path)) == Criteria.from_dict(GOOD)
    assert load_criteria("radcliq") == RadCliQCriteria()
    with pytest.raises(
        CriteriaError, match="radcliq, radcliq-significance, mrscore, crimson, rating or a .yaml file but got 'radclip'"
    ):
        load_criteria("radclip")
    with pytest.raises(CriteriaError, match="cannot be read"):
        load_criteria(str(tmp_path / "none.yaml"))
