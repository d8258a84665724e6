"""Search space of a study: settings of `fit` by dotted key, each with a range, choices or named variants.

```yaml
space:
  model.objective.lambda_: {low: 0.1, high: 3.0, log: true}   # a float, because one of its bounds is a float
  model.backbone.lora.r: {low: 4, high: 32, step: 4}          # an integer
  model.pooling: {choices: [mean, matching]}                  # values of any type, including lists
  loss:                                                       # named variants, each with the settings it changes
    variants:
      mre: {model.objective: MarginRewardEnforcement}
      bt: {model.objective: BradleyTerry}
  model.objective.c: {low: 0.01, high: 1.0, log: true, active_if: {loss: mre}}   # searched with this variant only
```

`active_if` maps the names of earlier parameters to the value, or the list of values, that activates the parameter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import BaseTrial

from radreward.errors import InputError

ParameterValue = str | int | float | bool | None
"""A value as Optuna stores it: a list or mapping as JSON, a variant by its name."""

_Distribution = IntDistribution | FloatDistribution | CategoricalDistribution

MAX_SHOWN_PARAMETERS = 8
"""Maximum number of parameters in a line, a table of the terminal or a plot. Files have all parameters."""

_Overrides = Callable[[ParameterValue], Mapping[str, Any]]
_Parser = Callable[[str, Mapping[str, Any]], tuple[_Distribution, _Overrides]]


class SearchParameter(NamedTuple):
    """One entry of a search space.

    Attributes:
        name: Dotted key of `fit`, or name of a set of variants.
        distribution: Distribution of its values.
        overrides: Maps a value to the settings it changes, by dotted key.
        active_if: Values of earlier parameters that activate this one.
    """

    name: str
    distribution: _Distribution
    overrides: _Overrides
    active_if: Mapping[str, Sequence[ParameterValue]]

    def is_active(self, values: Mapping[str, ParameterValue]) -> bool:
        """Return True if the parameter is searched given these values of earlier parameters."""
        return all(name in values and values[name] in wanted for name, wanted in self.active_if.items())

    def values(self) -> list[ParameterValue]:
        """Return all values, for a grid.

        Raises:
            InputError: If the number of values is not finite.
        """
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return list(distribution.choices)
        if isinstance(distribution, IntDistribution) and not distribution.log:
            return list(range(distribution.low, distribution.high + 1, distribution.step))
        if isinstance(distribution, FloatDistribution) and distribution.step is not None:
            steps = round((distribution.high - distribution.low) / distribution.step)
            return list(np.linspace(distribution.low, distribution.high, steps + 1).tolist())
        raise InputError(f"space: {self.name}: Expected a `step` without `log`, or `choices`, in a grid.")


class SearchSpace:
    """Parameters in the order of the study file.

    Args:
        entries: Section `space` of a study file.

    Raises:
        InputError: If an entry is invalid. The message names the entry.

    >>> space = SearchSpace({
    ...     "loss": {"variants": {"mre": {"model.objective": "MarginRewardEnforcement"}, "bt": {}}},
    ...     "model.objective.lambda_": {"low": 0.5, "high": 1.5, "step": 0.5, "active_if": {"loss": "mre"}},
    ... })
    >>> for values in space.grid(): print(values)
    {'loss': 'mre', 'model.objective.lambda_': 0.5}
    {'loss': 'mre', 'model.objective.lambda_': 1.0}
    {'loss': 'mre', 'model.objective.lambda_': 1.5}
    {'loss': 'bt'}
    >>> space.overrides({"loss": "mre", "model.objective.lambda_": 1.0})
    {'model.objective': 'MarginRewardEnforcement', 'model.objective.lambda_': 1.0}
    """

    def __init__(self, entries: Mapping[str, Any]) -> None:
        if not isinstance(entries, Mapping) or not entries:
            raise InputError(f"space: Expected parameters by name but got {entries!r}.")
        self.parameters: list[SearchParameter] = []
        for name, entry in entries.items():
            earlier = {parameter.name: parameter for parameter in self.parameters}
            self.parameters.append(_parse_parameter(str(name), entry, earlier))

    def suggest(self, trial: BaseTrial) -> dict[str, ParameterValue]:
        """Return the values of a trial by parameter name."""
        values: dict[str, ParameterValue] = {}
        for parameter in self.parameters:
            if parameter.is_active(values):
                values[parameter.name] = _suggest(trial, parameter)
        return values

    def overrides(self, values: Mapping[str, ParameterValue]) -> dict[str, Any]:
        """Return the settings of these values by dotted key. Later parameters win."""
        settings: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name in values:
                settings |= parameter.overrides(values[parameter.name])
        return settings

    def grid(self) -> list[dict[str, ParameterValue]]:
        """Return all combinations. The first parameter varies slowest.

        Raises:
            InputError: If a parameter has infinitely many values. The message names the parameter.
        """
        return list(self._combinations({}, self.parameters))

    def conditional_branches(self) -> list[dict[str, ParameterValue]]:
        """Return a few samples that cover every choice, every variant and both bounds of every range."""
        branches: list[dict[str, ParameterValue]] = []
        for parameter in self.parameters:
            for position, value in enumerate(_extreme_values(parameter.distribution)):
                fixed = {**self._activating_values(parameter), parameter.name: value}
                is_upper = position > 0 and not isinstance(parameter.distribution, CategoricalDistribution)
                sample = self._complete_sample(fixed, is_upper)  # upper bounds together: fewer samples
                if sample not in branches:
                    branches.append(sample)
        return branches

    def searched_settings(self) -> dict[str, Any]:
        """Return every setting that some value changes, by dotted key, with one of its values."""
        return {key: value for branch in self.conditional_branches() for key, value in self.overrides(branch).items()}

    @property
    def is_conditional(self) -> bool:
        """True if some parameters are only active for some values of others."""
        return any(parameter.active_if for parameter in self.parameters)

    def _activating_values(self, parameter: SearchParameter) -> dict[str, ParameterValue]:
        """Return values of earlier parameters that activate a parameter."""
        values = {name: wanted[0] for name, wanted in parameter.active_if.items()}
        earlier = [self._activating_values(other) for other in self.parameters if other.name in values]
        return {name: value for part in [*earlier, values] for name, value in part.items()}

    def _complete_sample(self, fixed: Mapping[str, ParameterValue], upper: bool = False) -> dict[str, ParameterValue]:
        """Return the fixed values, and of other active parameters the first choice and the lower or upper bound."""
        values: dict[str, ParameterValue] = {}
        for parameter in self.parameters:
            if parameter.is_active(values):
                is_choice = isinstance(parameter.distribution, CategoricalDistribution)
                default = _extreme_values(parameter.distribution)[-1 if upper and not is_choice else 0]
                values[parameter.name] = fixed.get(parameter.name, default)
        return values

    def _combinations(
        self, values: dict[str, ParameterValue], rest: Sequence[SearchParameter]
    ) -> Iterator[dict[str, ParameterValue]]:
        if not rest:
            yield values
        elif rest[0].is_active(values):
            for value in rest[0].values():
                yield from self._combinations({**values, rest[0].name: value}, rest[1:])
        else:
            yield from self._combinations(values, rest[1:])


def _extreme_values(distribution: _Distribution) -> list[ParameterValue]:
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    return [distribution.low, distribution.high]


def _suggest(trial: BaseTrial, parameter: SearchParameter) -> ParameterValue:
    name, distribution = parameter.name, parameter.distribution
    if isinstance(distribution, CategoricalDistribution):
        choice: ParameterValue = trial.suggest_categorical(name, distribution.choices)
        return choice
    if isinstance(distribution, IntDistribution):
        low, high, step = distribution.low, distribution.high, distribution.step
        return trial.suggest_int(name, low, high, step=step, log=distribution.log)
    return trial.suggest_float(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)


def _parse_parameter(name: str, entry: Any, earlier: Mapping[str, SearchParameter]) -> SearchParameter:
    try:
        if not isinstance(entry, Mapping):
            raise InputError(f"Expected low and high, or choices, or variants, but got {entry!r}.")
        parse = _parser_of(entry)
        active_if = _parse_condition(entry.get("active_if", {}), earlier)
        distribution, overrides = parse(name, entry)
    except InputError as error:
        raise InputError(f"space: {name}: {error}") from error
    return SearchParameter(name, distribution, overrides, active_if)


def _parser_of(entry: Mapping[str, Any]) -> _Parser:
    parsers = [(keys | {"active_if"}, parse) for keys, parse in _PARSERS if keys & set(entry)]
    if len(parsers) != 1:
        raise InputError("Expected one of: low and high; choices; variants.")
    [(keys, parse)] = parsers
    if unknown := sorted(set(map(str, entry)) - keys):
        raise InputError(f"Expected the keys {', '.join(sorted(keys))} but got {unknown[0]!r}.")
    return parse


def _parse_choices(name: str, entry: Mapping[str, Any]) -> tuple[_Distribution, _Overrides]:
    choices = entry["choices"]
    if not isinstance(choices, list) or not choices:
        raise InputError(f"Expected `choices` to be a list with at least one value but got {choices!r}.")
    by_value = {_to_parameter_value(choice): choice for choice in choices}
    if len(by_value) < len(choices):
        raise InputError("Expected `choices` to differ.")
    return CategoricalDistribution(list(by_value)), lambda value: {name: by_value[value]}


def _parse_variants(name: str, entry: Mapping[str, Any]) -> tuple[_Distribution, _Overrides]:
    variants = entry["variants"]
    if not isinstance(variants, Mapping) or not variants:
        raise InputError("Expected `variants` to be names, each with settings of `fit` by dotted key.")
    for variant, settings in variants.items():
        if not isinstance(settings, Mapping):
            raise InputError(f"variant {variant!r}: Expected settings of `fit` by dotted key but got {settings!r}.")
    by_name: dict[ParameterValue, Mapping[str, Any]] = {str(key): value for key, value in variants.items()}
    return CategoricalDistribution(list(by_name)), lambda value: by_name[value]


def _parse_range(name: str, entry: Mapping[str, Any]) -> tuple[_Distribution, _Overrides]:
    low, high = _number(entry, "low"), _number(entry, "high")
    step = _number(entry, "step") if "step" in entry else None
    log = entry.get("log", False)
    if not isinstance(log, bool):
        raise InputError(f"Expected `log` to be true or false but got {log!r}.")
    if low > high:
        raise InputError(f"Expected `low` to be <= `high` but got {low} and {high}.")
    if step is not None and step <= 0:
        raise InputError(f"Expected `step` to be > 0 but got {step}.")
    if log and low <= 0:
        raise InputError(f"Expected `low` to be > 0 on a logarithmic scale but got {low}.")
    if log and step is not None:
        raise InputError("Expected `step` or `log` but got both.")
    if step is not None and not math.isclose((high - low) / step, round((high - low) / step), abs_tol=1e-6):
        raise InputError(f"Expected `high` - `low` to be a multiple of `step` but got {low}, {high} and {step}.")
    distribution: _Distribution = FloatDistribution(float(low), float(high), log=log, step=step)
    if all(isinstance(value, int) for value in (low, high, step or 1)):
        distribution = IntDistribution(int(low), int(high), log=log, step=int(step or 1))
    return distribution, lambda value: {name: value}


_PARSERS: tuple[tuple[set[str], _Parser], ...] = (
    ({"low", "high", "step", "log"}, _parse_range),
    ({"choices"}, _parse_choices),
    ({"variants"}, _parse_variants),
)
"""Keys of an entry, besides `active_if`, and the function that parses it."""


def _number(entry: Mapping[str, Any], key: str) -> float:
    if key not in entry:
        raise InputError(f"Expected `low` and `high` but `{key}` is missing.")
    value = entry[key]
    if isinstance(value, str):  # YAML reads 1e-3 as text
        try:
            value = float(value)
        except ValueError as error:
            raise InputError(f"Expected `{key}` to be a number but got {value!r}.") from error
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"Expected `{key}` to be a finite number but got {value!r}.")
    return value


def _to_parameter_value(value: Any) -> ParameterValue:
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value)


def _parse_condition(entry: Any, earlier: Mapping[str, SearchParameter]) -> dict[str, Sequence[ParameterValue]]:
    if not isinstance(entry, Mapping):
        raise InputError(f"Expected `active_if` to map names of parameters to values but got {entry!r}.")
    condition: dict[str, Sequence[ParameterValue]] = {}
    for name, wanted in entry.items():
        if name not in earlier:
            raise InputError(f"Expected `active_if` to name an earlier parameter but got {name!r}.")
        distribution = earlier[name].distribution
        if not isinstance(distribution, CategoricalDistribution):
            raise InputError(f"Expected `active_if` to name a parameter with choices or variants but got {name!r}.")
        values = [_to_parameter_value(value) for value in (wanted if isinstance(wanted, list) else [wanted])]
        choices = list(distribution.choices)
        for value in values:
            if value not in choices:
                raise InputError(f"Expected `active_if` to give {name} one of {choices} but got {value!r}.")
        condition[name] = values
    return condition
