from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.samplers import TPESampler

from radreward.tuning import StudyConfig
from radreward.tuning.samplers import ReseededSampler, create_sampler

Read = Callable[..., StudyConfig]


def sampled(settings: StudyConfig, trials: int = 8) -> list[dict[str, Any]]:
    study = optuna.create_study(sampler=create_sampler(settings), direction="maximize")
    found = []
    for number in range(trials):
        trial = study.ask()
        found.append(settings.space.suggest(trial))
        study.tell(trial, float(number))
    return found


@pytest.mark.parametrize("conditional", [False, True])
def test_tpe_is_joint_and_keeps_away_from_running_trials(settings: Read, conditional: bool) -> None:
    space: dict[str, Any] = {"loss": {"choices": ["a", "b"]}, "x": {"low": 0.0, "high": 1.0}}
    if conditional:
        space["x"]["when"] = {"loss": "a"}
    sampler = create_sampler(settings(space=space))
    assert isinstance(sampler, ReseededSampler)
    assert isinstance(sampler.sampler, TPESampler)
    assert sampler.sampler._multivariate is True
    assert sampler.sampler._constant_liar is True
    assert sampler.sampler._group is conditional


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_choices_depend_on_seed_and_number_alone(settings: Read, sampler: str) -> None:
    first = sampled(settings(sampler=sampler))
    assert sampled(settings(sampler=sampler)) == first
    assert sampled(settings(sampler=sampler, seed=1)) != first
    assert len({tuple(labels.values()) for labels in first}) == len(first)


def test_tpe_goes_where_it_was_good(settings: Read) -> None:
    found = settings(trials=40)
    study = optuna.create_study(sampler=create_sampler(found), direction="maximize")
    tried = []
    for _ in range(40):
        trial = study.ask()
        tried.append(trial.suggest_float("x", 0, 10))
        study.tell(trial, -((tried[-1] - 3) ** 2))
    early, late = tried[:10], tried[-10:]
    assert sum(abs(x - 3) for x in late) < 0.75 * sum(abs(x - 3) for x in early)


def test_a_grid_is_gone_through_in_its_order(settings: Read) -> None:
    found = settings(
        sampler="grid", trials=None, space={"a": {"choices": [1, 2]}, "b": {"low": 0.0, "high": 1.0, "step": 0.5}}
    )
    assert sampled(found, found.trials) == found.space.grid()
