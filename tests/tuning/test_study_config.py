from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radreward.errors import InputError
from radreward.tuning import StudyConfig, load_study_config

MakeConfig = Callable[..., StudyConfig]


def test_missing_keys_have_defaults(make_config: MakeConfig) -> None:
    config = make_config()
    assert (config.sampler, config.trials, config.seed, config.metric) == ("tpe", 6, 0, "val_tau")
    assert (config.direction, config.prune, dict(config.overrides)) == ("maximize", False, {})


def test_overrides_put_classes_first_and_sampled_values_win(make_config: MakeConfig) -> None:
    config = make_config(
        overrides={"model.objective.c": 0.1, "model.optimizer.lr": 1.0, "trainer.max_steps": 5},
        space={
            "model.optimizer.lr": {"low": 0.1, "high": 2.0},
            "loss": {"variants": {"bt": {"model.objective": "BradleyTerry"}}},
            "targets": {"choices": [["query"], None]},
        },
    )
    assert config.overrides_for({"model.optimizer.lr": 0.5, "loss": "bt", "targets": '["query"]'}) == [
        'targets=["query"]',
        "trainer.max_steps=5",
        "model.objective=BradleyTerry",
        "model.objective.c=0.1",
        "model.optimizer.lr=0.5",
    ]
    assert config.overrides_for({"targets": None})[0] == "targets=null"


def test_grid_has_one_trial_per_combination_or_the_first_ones(make_config: MakeConfig) -> None:
    space = {"a": {"choices": [1, 2, 3]}, "b": {"low": 0, "high": 1}}
    everything = make_config(sampler="grid", space=space, trials=None)
    first = make_config(sampler="grid", space=space, trials=4)
    assert (everything.trials, first.trials) == (6, 4)
    assert first.search_definition == everything.search_definition  # resumed by the whole grid
    with pytest.raises(InputError, match="trials: Expected at most 6, the combinations of the grid, but got 7"):
        make_config(sampler="grid", space=space, trials=7)


def test_command_line_replaces_the_file(study_file: Callable[..., Path], tmp_path: Path) -> None:
    base = tmp_path / "other.yaml"
    base.write_text("run: there\n")
    config = load_study_config(study_file(), base, 9, ["a.b=3", "--c=x"])
    assert (config.base, config.trials, dict(config.overrides)) == (base, 9, {"a.b": "3", "c": "x"})
    assert config.search_definition != load_study_config(study_file()).search_definition
    assert (
        load_study_config(study_file(), trials=9).search_definition == load_study_config(study_file()).search_definition
    )


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"sampler": "tpo"}, "sampler: Expected one of tpe, random, grid but got 'tpo'"),
        ({"smapler": "tpe"}, "but got 'smapler'"),
        ({"trials": 0}, "trials: Expected an integer >= 1 but got 0"),
        ({"trials": None}, "trials: Expected an integer >= 1 but got None"),
        ({"seed": -1}, "seed: Expected a number >= 0"),
        ({"seed": True}, "seed: Expected a value of type int but got True"),
        ({"metric": 3}, "metric: Expected a value of type str but got 3"),
        ({"direction": "up"}, "direction: Expected one of maximize, minimize"),
        ({"prune": "yes"}, "prune: Expected a value of type bool"),
        ({"overrides": ["a"]}, "overrides: Expected a value of type dict"),
        ({"study": "a/b"}, "study: Expected a valid folder name"),
        (
            {"base": "absent.yaml"},
            "absent.yaml: Expected a YAML file but it cannot be read (No such file or directory)",
        ),
        ({"space": {"x": {"low": 2, "high": 1}}}, "space: x: Expected `low` to be <= `high`"),
    ],
)
def test_invalid_key_raises_with_file_and_key(make_config: MakeConfig, entries: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="study.yaml: ") as error:
        make_config(**entries)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study: [", "study.yaml, line 1, column 9: Expected YAML but"),
        ("", "Expected settings as `key: value` but got an empty file"),
        ("base: b\nspace: {}", "study: Expected a value but the key is missing"),
    ],
)
def test_file_without_a_study_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "study.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        load_study_config(tmp_path / "study.yaml")
    assert message in str(error.value)
    assert str(error.value).count("study.yaml") == 1
    with pytest.raises(InputError, match="Expected a setting as dotted.key=value but got 'a'"):
        load_study_config(Path("experiments/studies/margin.yaml"), overrides=["a"])
