"""Runs are grouped, and groups are named, by the settings that differ."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.tuning.run_groups import RunGroup, group_by_seed, group_by_setting
from radreward.tuning.runs import read_run

MakeRun = Callable[..., Path]


def names(groups: list[RunGroup]) -> list[tuple[str, int]]:
    return [(group.name, len(group.runs)) for group in groups]


def test_group_by_seed_setting_names_the_groups(make_run: MakeRun) -> None:
    runs = [read_run(make_run(f"{lam}-{seed}", seed=seed, lambda_=lam)) for seed in (0, 1) for lam in (1.0, 0.5)]
    assert names(group_by_seed(runs)) == [("lambda_=1.0", 2), ("lambda_=0.5", 2)]


def test_group_by_seed_class_names_are_short_and_own_arguments_are_omitted(make_run: MakeRun) -> None:
    runs = [
        read_run(make_run("a", lambda_=1.0)),
        read_run(make_run("b", lambda_=2.0)),
        read_run(make_run("c", loss="mine.losses.Smooth", width=3)),
    ]
    assert names(group_by_seed(runs)) == [
        ("objective=MarginRewardEnforcement, lambda_=1.0", 1),
        ("objective=MarginRewardEnforcement, lambda_=2.0", 1),
        ("objective=Smooth", 1),
    ]


def test_group_by_seed_equal_class_names_keep_their_modules(make_run: MakeRun) -> None:
    runs = [read_run(make_run("a", loss="one.Smooth")), read_run(make_run("b", loss="two.Smooth"))]
    assert names(group_by_seed(runs)) == [("objective=one.Smooth", 1), ("objective=two.Smooth", 1)]


def test_group_by_seed_value_with_a_dot_is_not_a_class(make_run: MakeRun) -> None:
    runs = [read_run(make_run(name, version=name)) for name in ("v1.5", "v2.5", "V3.X-b")]
    assert names(group_by_seed(runs)) == [("version=v1.5", 1), ("version=v2.5", 1), ("version=V3.X-b", 1)]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ((0.123456789, 1.0), ("0.123", "1.0")),
        ((2.3456789e-05, 123456.789), ("2.35e-05", "1.23e+05")),
        ((0.123456, 0.123457), ("0.123456", "0.123457")),  # must stay different
        ((123456, 1234.0), ("123456", "1.23e+03")),  # an integer may be a number of steps
    ],
)
def test_group_by_seed_numbers_have_three_significant_digits(
    make_run: MakeRun, values: tuple[float, float], labels: tuple[str, str]
) -> None:
    runs = [read_run(make_run(str(value), lambda_=value)) for value in values]
    assert names(group_by_seed(runs)) == [(f"lambda_={label}", 1) for label in labels]


def test_group_by_seed_missing_setting_is_named(make_run: MakeRun) -> None:
    runs = [read_run(make_run("a", extra=1)), read_run(make_run("b"))]
    assert names(group_by_seed(runs)) == [("extra=1", 1), ("no extra", 1)]


def test_group_by_seed_study_parameters_name_the_trials(make_run: MakeRun) -> None:
    folders = [make_run(f"{lam}", lambda_=lam) for lam in (1.0, 0.5)]
    for folder, loss in zip(folders, ("both", "v1.5"), strict=True):
        params = {"loss": loss, "model.objective": f"a.{loss.title()[0]}", "seed_everything": 0}
        (folder / "trial.json").write_text(json.dumps({"state": "complete", "params": params}))
    assert names(group_by_seed([read_run(folder) for folder in folders])) == [
        ("both, objective=B", 1),
        ("v1.5, objective=V", 1),
    ]


def test_group_by_seed_different_training_data_are_separate_groups(make_run: MakeRun) -> None:
    runs = [read_run(make_run("a", records="1" * 64)), read_run(make_run("b", records="2" * 64))]
    assert names(group_by_seed(runs)) == [("records=g@11111111", 1), ("records=g@22222222", 1)]


def test_group_by_seed_single_group_has_the_name_of_its_folder(make_run: MakeRun) -> None:
    folder = make_run("only")
    assert names(group_by_seed([read_run(folder)])) == [(str(folder), 1)]


@pytest.mark.parametrize(
    ("params", "seeds", "name"),
    [
        ({"loss": "mine", "model.objective.c": 0.5}, 2, "mine"),
        ({"loss": "mine"}, 1, "mine"),
        ({"model.objective": "my_loss.Mine", "model.objective.c": 0.123456}, 2, "objective=Mine, c=0.123"),
        ({"model.objective.c": 0.5}, 1, "run-0"),
    ],
)
def test_group_by_seed_single_group_of_a_study_has_the_name_of_its_variant(
    make_run: MakeRun, params: dict[str, object], seeds: int, name: str
) -> None:
    folders = [make_run(f"run-{seed}", seed=seed) for seed in range(seeds)]
    for seed, folder in enumerate(folders):
        record = {"state": "complete", "params": {**params, "seed_everything": seed}}
        (folder / "trial.json").write_text(json.dumps(record))
    [group] = group_by_seed([read_run(folder) for folder in folders])
    assert group.name.rpartition("/")[2] == name
    assert len(group.runs) == seeds


def test_group_by_seed_duplicate_seed_is_rejected(make_run: MakeRun) -> None:
    runs = [read_run(make_run("a", seed=4)), read_run(make_run("b", seed=4))]
    message = r"a and .*b: Expected different seeds but both have the same settings and seed_everything 4"
    with pytest.raises(InputError, match=message):
        group_by_seed(runs)


def test_group_by_setting_ignores_other_settings(make_run: MakeRun) -> None:
    runs = [read_run(make_run(f"{lam}{c}", lambda_=lam, c=c)) for lam in (1.0, 0.5) for c in (0.1, 0.2)]
    assert names(group_by_setting(runs, "lambda_")) == [("1.0", 2), ("0.5", 2)]
    assert names(group_by_setting(runs, "model.objective.c")) == [("0.1", 2), ("0.2", 2)]


@pytest.mark.parametrize(
    ("key", "message"), [("lamda", "no setting has this name"), ("c", r"b has no setting model\.objective\.c")]
)
def test_group_by_setting_missing_or_partial_setting_is_rejected(make_run: MakeRun, key: str, message: str) -> None:
    runs = [read_run(make_run("a", c=1.0)), read_run(make_run("b"))]
    with pytest.raises(InputError, match=message):
        group_by_setting(runs, key)
