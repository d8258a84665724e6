from collections.abc import Callable
from typing import Any

import optuna
import pytest

from radreward.tuning import StudyConfig, samplers
from radreward.tuning.samplers import SamplerPerTrial, create_sampler

MakeConfig = Callable[..., StudyConfig]


def suggestions(config: StudyConfig, n_trials: int = 8) -> list[dict[str, Any]]:
    study = optuna.create_study(direction="maximize", sampler=SamplerPerTrial(config))
    values = []
    for number in range(n_trials):
        trial = study.ask()
        values.append(config.space.suggest(trial))
        study.tell(trial, float(number))
    return values


@pytest.mark.parametrize("conditional", [False, True])
def test_tpe_is_multivariate_with_constant_liar(
    make_config: MakeConfig, monkeypatch: pytest.MonkeyPatch, conditional: bool
) -> None:
    space: dict[str, Any] = {"loss": {"choices": ["a", "b"]}, "x": {"low": 0.0, "high": 1.0}}
    if conditional:
        space["x"]["active_if"] = {"loss": "a"}
    options: dict[str, Any] = {}
    monkeypatch.setattr(samplers, "TPESampler", lambda **given: options.update(given))
    create_sampler(make_config(space=space), 0)
    assert (options["multivariate"], options["constant_liar"], options["group"]) == (True, True, conditional)


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_suggestions_depend_only_on_seed_and_trial_number(make_config: MakeConfig, sampler: str) -> None:
    first = suggestions(make_config(sampler=sampler))
    assert suggestions(make_config(sampler=sampler)) == first
    assert suggestions(make_config(sampler=sampler, seed=1)) != first
    assert len({tuple(labels.values()) for labels in first}) == len(first)


def test_tpe_concentrates_near_the_best_value(make_config: MakeConfig) -> None:
    study = optuna.create_study(direction="maximize", sampler=SamplerPerTrial(make_config(trials=40)))
    values = []
    for _ in range(40):
        trial = study.ask()
        values.append(trial.suggest_float("x", 0, 10))
        study.tell(trial, -((values[-1] - 3) ** 2))
    early, late = values[:10], values[-10:]
    assert sum(abs(x - 3) for x in late) < 0.75 * sum(abs(x - 3) for x in early)
