from typing import Any

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FixedTrial

from radreward.errors import InputError
from radreward.tuning import SearchSpace

LOSS = {"variants": {"mre": {"model.objective": "MarginRewardEnforcement"}, "bt": {"model.objective": "BradleyTerry"}}}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"low": 0.1, "high": 3.0, "log": True}, FloatDistribution(0.1, 3.0, log=True)),
        ({"low": 0, "high": 3.0}, FloatDistribution(0.0, 3.0)),
        ({"low": 0.0, "high": 1.0, "step": 0.25}, FloatDistribution(0.0, 1.0, step=0.25)),
        ({"low": "1e-4", "high": "1e-2", "log": True}, FloatDistribution(1e-4, 1e-2, log=True)),
        ({"low": 4, "high": 32, "step": 4}, IntDistribution(4, 32, step=4)),
        ({"low": 1, "high": 64, "log": True}, IntDistribution(1, 64, log=True)),
        ({"choices": ["mean", None, 2, True]}, CategoricalDistribution(["mean", None, 2, True])),
        ({"choices": [["query"], ["query", "key"]]}, CategoricalDistribution(['["query"]', '["query", "key"]'])),
        (LOSS, CategoricalDistribution(["mre", "bt"])),
    ],
)
def test_entry_defines_distribution(entry: dict[str, Any], expected: BaseDistribution) -> None:
    assert SearchSpace({"a.b": entry}).parameters[0].distribution == expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"low": 2, "high": 1}, "`low` to be <= `high` but got 2 and 1"),
        ({"low": 0.0, "high": 1.0, "log": True}, "`low` to be > 0 on a logarithmic scale but got 0.0"),
        ({"low": 0, "high": 4, "step": 0}, "`step` to be > 0 but got 0"),
        ({"low": 0, "high": 5, "step": 2}, "multiple of `step`"),
        ({"low": 1, "high": 4, "step": 1, "log": True}, "`step` or `log` but got both"),
        ({"low": 1}, "`high` is missing"),
        ({"low": "much", "high": 2}, "`low` to be a number but got 'much'"),
        ({"low": float("nan"), "high": 2}, "finite number but got nan"),
        ({"low": True, "high": 2}, "finite number but got True"),
        ({"low": 1, "high": 2, "log": "yes"}, "`log` to be true or false"),
        ({"low": 1, "high": 2, "lgo": True}, "but got 'lgo'"),
        ({"choices": []}, "`choices` to be a list with at least one value but got []"),
        ({"choices": [1, 1]}, "`choices` to differ"),
        ({"choices": [1], "low": 0}, "one of: low and high; choices; variants"),
        ({"variants": {"a": 3}}, "variant 'a'"),
        ({"variants": []}, "`variants` to be names"),
        ({}, "one of"),
        (3, "but got 3"),
        ({"choices": [1], "active_if": {"c": 1}}, "`active_if` to name an earlier parameter but got 'c'"),
        ({"choices": [1], "active_if": ["loss"]}, "`active_if` to map names"),
        ({"choices": [1], "active_if": {"loss": "mse"}}, "give loss one of ['mre', 'bt'] but got 'mse'"),
        ({"choices": [1], "active_if": {"rate": 1}}, "a parameter with choices or variants but got"),
    ],
)
def test_invalid_entry_raises_with_its_name(entry: Any, message: str) -> None:
    with pytest.raises(InputError, match="^space: a.b: ") as error:
        SearchSpace({"loss": LOSS, "rate": {"low": 0, "high": 1}, "a.b": entry})
    assert message in str(error.value)


@pytest.mark.parametrize("entries", [{}, None, ["a"]])
def test_empty_space_is_rejected(entries: Any) -> None:
    with pytest.raises(InputError, match="space: Expected parameters by name"):
        SearchSpace(entries)


SPACE = SearchSpace(
    {
        "loss": LOSS,
        "model.objective.c": {"low": 0.1, "high": 1.0, "active_if": {"loss": "mre"}},
        "model.pooling": {"choices": ["mean", "matching"]},
        "model.head_hidden_size": {
            "low": 0,
            "high": 8,
            "step": 4,
            "active_if": {"loss": ["mre", "bt"], "model.pooling": "matching"},
        },
        "targets": {"choices": [["query"], "auto"]},
    }
)


def test_overrides_include_variants_and_keys() -> None:
    values = {"loss": "bt", "model.pooling": "mean", "targets": '["query"]'}
    expected = {"model.objective": "BradleyTerry", "model.pooling": "mean", "targets": ["query"]}
    assert SPACE.overrides(values) == expected


def test_conditional_parameter_is_suggested_only_if_active() -> None:
    chosen = {
        "loss": "bt",
        "model.pooling": "mean",
        "targets": "auto",
        "model.objective.c": 0.5,
        "model.head_hidden_size": 4,
    }
    assert set(SPACE.suggest(FixedTrial(chosen))) == {"loss", "model.pooling", "targets"}
    assert set(SPACE.suggest(FixedTrial({**chosen, "loss": "mre"}))) - {"loss", "model.pooling", "targets"} == {
        "model.objective.c"
    }
    assert "model.head_hidden_size" in SPACE.suggest(FixedTrial({**chosen, "model.pooling": "matching"}))


def test_conditional_branches_cover_choices_and_bounds() -> None:
    samples = SPACE.conditional_branches()
    for parameter in SPACE.parameters:
        sampled = [values[parameter.name] for values in samples if parameter.name in values]
        assert sampled
        if isinstance(parameter.distribution, CategoricalDistribution):
            assert set(sampled) == set(parameter.distribution.choices)
        else:
            assert {min(sampled), max(sampled)} == {parameter.distribution.low, parameter.distribution.high}  # type: ignore[type-var]
    for values in samples:
        assert all(parameter.is_active(values) == (parameter.name in values) for parameter in SPACE.parameters)


def test_grid_has_every_combination_once() -> None:
    space = SearchSpace(
        {"a": {"low": 0.0, "high": 0.3, "step": 0.1}, "b": {"choices": [1, 2]}, "c": {"low": 1, "high": 5, "step": 2}}
    )
    samples = space.grid()
    assert len(samples) == 4 * 2 * 3
    assert len({tuple(values.values()) for values in samples}) == len(samples)
    assert {round(float(values["a"] or 0), 6) for values in samples} == {0.0, 0.1, 0.2, 0.3}


@pytest.mark.parametrize("entry", [{"low": 0.0, "high": 1.0}, {"low": 1, "high": 8, "log": True}])
def test_grid_of_an_infinite_range_is_rejected(entry: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="space: a: Expected a `step` without `log`, or `choices`, in a grid"):
        SearchSpace({"a": entry}).grid()


@given(st.integers(0, 2**31 - 1))
def test_suggested_values_are_within_the_space(seed: int) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    values = SPACE.suggest(study.ask())
    for parameter in SPACE.parameters:
        assert (parameter.name in values) == parameter.is_active(values)
        if parameter.name in values:
            distribution: BaseDistribution = parameter.distribution
            assert distribution._contains(distribution.to_internal_repr(values[parameter.name]))


def test_branches_of_independent_ranges_are_their_lower_and_their_upper_bounds() -> None:
    space = SearchSpace({name: {"low": 0.0, "high": 1.0} for name in "abc"})
    assert space.conditional_branches() == [dict.fromkeys("abc", 0.0), dict.fromkeys("abc", 1.0)]
