from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radreward.errors import InputError
from radreward.tuning import StudyConfig, load_study_config

Read = Callable[..., StudyConfig]


def test_what_is_not_said_has_a_default(settings: Read) -> None:
    found = settings()
    assert (found.sampler, found.trials, found.seed, found.metric) == ("tpe", 6, 0, "val_tau")
    assert (found.direction, found.prune, dict(found.overrides)) == ("maximize", False, {})


def test_classes_come_before_their_settings_and_the_sampler_wins(settings: Read) -> None:
    found = settings(
        overrides={"model.objective.c": 0.1, "model.optimizer.lr": 1.0, "trainer.max_steps": 5},
        space={
            "model.optimizer.lr": {"low": 0.1, "high": 2.0},
            "loss": {"variants": {"bt": {"model.objective": "BradleyTerry"}}},
            "targets": {"choices": [["query"], None]},
        },
    )
    assert found.overrides_for({"model.optimizer.lr": 0.5, "loss": "bt", "targets": '["query"]'}) == [
        'targets=["query"]',
        "trainer.max_steps=5",
        "model.objective=BradleyTerry",
        "model.objective.c=0.1",
        "model.optimizer.lr=0.5",
    ]
    assert found.overrides_for({"targets": None})[0] == "targets=null"


def test_a_grid_has_as_many_trials_as_combinations(settings: Read) -> None:
    space = {"a": {"choices": [1, 2, 3]}, "b": {"low": 0, "high": 1}}
    assert settings(sampler="grid", space=space, trials=None).trials == 6
    with pytest.raises(InputError, match="trials: Expected none with the sampler grid"):
        settings(sampler="grid", space=space)


def test_the_command_line_wins(study_file: Callable[..., Path], tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("run: there\n")
    found = load_study_config(study_file(), other, 9, ["a.b=3", "--c=x"])
    assert (found.base, found.trials, dict(found.overrides)) == (other, 9, {"a.b": "3", "c": "x"})
    assert found.search_definition != load_study_config(study_file()).search_definition
    assert (
        load_study_config(study_file(), trials=9).search_definition == load_study_config(study_file()).search_definition
    )


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"sampler": "tpo"}, "sampler: Expected one of tpe, random, grid but got 'tpo'"),
        ({"smapler": "tpe"}, "unknown key 'smapler'"),
        ({"trials": 0}, "trials: Expected a whole number >= 1 but got 0"),
        ({"trials": None}, "trials: Expected a whole number >= 1 but got None"),
        ({"seed": -1}, "seed: Expected to be >= 0"),
        ({"seed": True}, "seed: Expected a int but got True"),
        ({"metric": 3}, "metric: Expected a str but got 3"),
        ({"direction": "up"}, "direction: Expected one of maximize, minimize"),
        ({"prune": "yes"}, "prune: Expected a bool"),
        ({"overrides": ["a"]}, "overrides: Expected a dict"),
        ({"study": "a/b"}, "study: Expected a name that can be a folder's"),
        ({"base": "absent.yaml"}, "absent.yaml: cannot be read (No such file or directory)"),
        ({"space": {"x": {"low": 2, "high": 1}}}, "space: x: Expected `low` to be <= `high`"),
    ],
)
def test_what_cannot_be_used_is_told_with_the_file(settings: Read, entries: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="study.yaml: ") as raised:
        settings(**entries)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study: [", "study.yaml, line 1, column 9: Expected YAML"),
        ("", "Expected settings by name but got None"),
        ("base: b\nspace: {}", "study: Expected to be given"),
    ],
)
def test_a_file_that_is_no_study(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "study.yaml").write_text(text)
    with pytest.raises(InputError) as raised:
        load_study_config(tmp_path / "study.yaml")
    assert message in str(raised.value)
    assert str(raised.value).count("study.yaml") == 1
    with pytest.raises(InputError, match="a: Expected dotted.key=value"):
        load_study_config(Path("experiments/studies/margin.yaml"), overrides=["a"])
