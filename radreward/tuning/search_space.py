"""What a study searches: settings of `fit` by dotted key, each with a range, choices or named variants.

```yaml
space:
  model.objective.lambda_: {low: 0.1, high: 3.0, log: true}   # a float, because one of its numbers is one
  model.backbone.lora.r: {low: 4, high: 32, step: 4}          # a whole number
  model.pooling: {choices: [mean, matching]}                  # values of any kind, lists too
  loss:                                                       # a name, and what each of its variants sets
    variants:
      mre: {model.objective: MarginRewardEnforcement}
      bt: {model.objective: BradleyTerry}
  model.objective.c: {low: 0.01, high: 1.0, log: true, when: {loss: mre}}   # searched with that variant only
```

`when` names parameters above it and the value, or the list of values, that each must have.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import BaseTrial

from radreward.errors import InputError

ParameterValue = str | int | float | bool | None
"""A value as Optuna keeps it: a choice that is no plain value by its JSON, a variant by its name."""

Distribution = IntDistribution | FloatDistribution | CategoricalDistribution

_RANGE_KEYS, _COMMON_KEYS = {"low", "high", "step", "log"}, {"when"}
_KEY_SETS = (_RANGE_KEYS, {"choices"}, {"variants"})


class SearchParameter(NamedTuple):
    """One entry of a space.

    Attributes:
        name: A dotted key of `fit`, or the name of a set of variants.
        distribution: Where its values lie.
        settings: What a value sets: dotted keys to values.
        when: Under which values of other parameters it is searched.
    """

    name: str
    distribution: Distribution
    overrides: Callable[[ParameterValue], Mapping[str, Any]]
    active_if: Mapping[str, Sequence[ParameterValue]]

    def is_active(self, values: Mapping[str, ParameterValue]) -> bool:
        """Whether it is searched beside these values of the parameters above it."""
        return all(name in values and values[name] in wanted for name, wanted in self.active_if.items())

    def values(self) -> list[ParameterValue]:
        """All its values, for a grid.

        Raises:
            InputError: If there is no end of them.
        """
        among = self.distribution
        if isinstance(among, CategoricalDistribution):
            return list(among.choices)
        if isinstance(among, IntDistribution) and not among.log:
            return list(range(among.low, among.high + 1, among.step))
        if isinstance(among, FloatDistribution) and among.step is not None:
            steps = round((among.high - among.low) / among.step)
            return [among.low + among.step * count for count in range(steps + 1)]
        raise InputError(f"space: {self.name}: Expected a `step` without `log`, or `choices`, in a grid.")


class SearchSpace:
    """Parameters in the order of the file.

    Args:
        entries: The part `space` of a study's file.

    Raises:
        InputError: If an entry cannot be used; names it.

    >>> space = Space({
    ...     "loss": {"variants": {"mre": {"model.objective": "MarginRewardEnforcement"}, "bt": {}}},
    ...     "model.objective.lambda_": {"low": 0.5, "high": 1.5, "step": 0.5, "when": {"loss": "mre"}},
    ... })
    >>> for labels in space.grid(): print(labels)
    {'loss': 'mre', 'model.objective.lambda_': 0.5}
    {'loss': 'mre', 'model.objective.lambda_': 1.0}
    {'loss': 'mre', 'model.objective.lambda_': 1.5}
    {'loss': 'bt'}
    >>> space.settings({"loss": "mre", "model.objective.lambda_": 1.0})
    {'model.objective': 'MarginRewardEnforcement', 'model.objective.lambda_': 1.0}
    """

    def __init__(self, entries: Mapping[str, Any]) -> None:
        if not isinstance(entries, Mapping) or not entries:
            raise InputError(f"space: Expected parameters by name but got {entries!r}.")
        self.parameters: list[SearchParameter] = []
        for name, entry in entries.items():
            self.parameters.append(_parse_parameter(str(name), entry, {known.name: known for known in self.parameters}))

    def suggest(self, trial: BaseTrial) -> dict[str, ParameterValue]:
        """What a trial tries: labels by name."""
        labels: dict[str, ParameterValue] = {}
        for parameter in self.parameters:
            if parameter.is_active(labels):
                labels[parameter.name] = _suggest(trial, parameter)
        return labels

    def overrides(self, values: Mapping[str, ParameterValue]) -> dict[str, Any]:
        """What these labels set, by dotted key; of two that set one key, the later wins."""
        known = {parameter.name: parameter for parameter in self.parameters}
        return {key: value for name, label in values.items() for key, value in known[name].overrides(label).items()}

    def grid(self) -> list[dict[str, ParameterValue]]:
        """All combinations; the first parameter varies slowest.

        Raises:
            InputError: If a parameter has no end of values; names it.
        """
        return list(self._combinations({}, self.parameters))

    def conditional_branches(self) -> list[dict[str, ParameterValue]]:
        """A few samples in which every choice, every variant and both ends of every range occur."""
        found: list[dict[str, ParameterValue]] = []
        for parameter in self.parameters:
            for value in _extreme_values(parameter.distribution):
                sample = self._complete_sample({**self._activating_values(parameter), parameter.name: value})
                if sample not in found:
                    found.append(sample)
        return found

    @property
    def is_conditional(self) -> bool:
        """Whether some parameters are searched beside some values of others only."""
        return any(parameter.active_if for parameter in self.parameters)

    def _activating_values(self, parameter: SearchParameter) -> dict[str, ParameterValue]:
        """Values of parameters above it beside which it is searched."""
        wanted = {name: labels[0] for name, labels in parameter.active_if.items()}
        above = [self._activating_values(known) for known in self.parameters if known.name in wanted]
        return {name: label for known in [*above, wanted] for name, label in known.items()}

    def _complete_sample(self, chosen: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """These values, and the first one of every other parameter."""
        labels: dict[str, ParameterValue] = {}
        for parameter in self.parameters:
            if parameter.is_active(labels):
                labels[parameter.name] = chosen.get(parameter.name, _extreme_values(parameter.distribution)[0])
        return labels

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


def _extreme_values(distribution: Distribution) -> list[ParameterValue]:
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    return [distribution.low, distribution.high]


def _suggest(trial: BaseTrial, parameter: SearchParameter) -> ParameterValue:
    name, among = parameter.name, parameter.distribution
    if isinstance(among, CategoricalDistribution):
        chosen: ParameterValue = trial.suggest_categorical(name, among.choices)
        return chosen
    if isinstance(among, IntDistribution):
        return trial.suggest_int(name, among.low, among.high, step=among.step, log=among.log)
    return trial.suggest_float(name, among.low, among.high, step=among.step, log=among.log)


def _parse_parameter(name: str, entry: Any, above: Mapping[str, SearchParameter]) -> SearchParameter:
    def refuse(text: str) -> InputError:
        return InputError(f"space: {name}: {text}")

    if not isinstance(entry, Mapping):
        raise refuse(f"Expected low and high, or choices, or variants, but got {entry!r}.")
    kinds = [kind for kind in _KEY_SETS if kind & set(entry)]
    if len(kinds) != 1:
        raise refuse("Expected one of: low and high; choices; variants.")
    if unknown := sorted(set(map(str, entry)) - kinds[0] - _COMMON_KEYS):
        raise refuse(f"unknown key {unknown[0]!r}; Expected {', '.join(sorted(kinds[0] | _COMMON_KEYS))}.")
    when = _parse_condition(entry.get("when", {}), above, refuse)
    if "choices" in entry:
        choices = entry["choices"]
        if not isinstance(choices, list) or not choices:
            raise refuse(f"Expected `choices` to be a list but got {choices!r}.")
        by_label = {_to_parameter_value(choice): choice for choice in choices}
        if len(by_label) < len(choices):
            raise refuse("Expected `choices` to differ.")
        return SearchParameter(
            name, CategoricalDistribution(list(by_label)), lambda label: {name: by_label[label]}, when
        )
    if "variants" in entry:
        variants = entry["variants"]
        if not isinstance(variants, Mapping) or not variants:
            raise refuse("Expected `variants` to be names, each with settings of `fit` by dotted key.")
        for variant, settings in variants.items():
            if not isinstance(settings, Mapping):
                raise refuse(f"variant {variant!r}: Expected settings of `fit` by dotted key but got {settings!r}.")
        by_name: dict[ParameterValue, Mapping[str, Any]] = {str(key): value for key, value in variants.items()}
        return SearchParameter(name, CategoricalDistribution(list(by_name)), lambda label: by_name[label], when)
    return SearchParameter(name, _parse_range(entry, refuse), lambda label: {name: label}, when)


def _to_parameter_value(value: Any) -> ParameterValue:
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value)


def _parse_condition(
    entry: Any, above: Mapping[str, SearchParameter], error: Callable[[str], InputError]
) -> dict[str, Sequence[ParameterValue]]:
    if not isinstance(entry, Mapping):
        raise error(f"Expected `when` to be names of parameters with values but got {entry!r}.")
    found: dict[str, Sequence[ParameterValue]] = {}
    for name, wanted in entry.items():
        if name not in above:
            raise error(f"`when` names {name!r}, which is no parameter above it.")
        distribution = above[name].distribution
        if not isinstance(distribution, CategoricalDistribution):
            raise error(f"`when` names {name!r}: Expected a parameter with choices or variants.")
        labels = [_to_parameter_value(value) for value in (wanted if isinstance(wanted, list) else [wanted])]
        for label in labels:
            if label not in distribution.choices:
                raise error(f"`when` expects {name} to be {label!r}, which is none of {list(distribution.choices)}.")
        found[name] = labels
    return found


def _parse_range(entry: Mapping[str, Any], error: Callable[[str], InputError]) -> IntDistribution | FloatDistribution:
    def number(key: str) -> float:
        value = entry[key]
        if isinstance(value, str):  # YAML takes 1e-3 for text
            try:
                value = float(value)
            except ValueError as cause:
                raise error(f"Expected `{key}` to be a number but got {value!r}.") from cause
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise error(f"Expected `{key}` to be a finite number but got {value!r}.")
        return value

    for key in ("low", "high"):
        if key not in entry:
            raise error(f"Expected `low` and `high` but there is no `{key}`.")
    low, high = number("low"), number("high")
    step, log = number("step") if "step" in entry else None, entry.get("log", False)
    if not isinstance(log, bool):
        raise error(f"Expected `log` to be true or false but got {log!r}.")
    if low > high:
        raise error(f"Expected `low` to be <= `high` but got {low} and {high}.")
    if step is not None and step <= 0:
        raise error(f"Expected `step` to be > 0 but got {step}.")
    if log and low <= 0:
        raise error(f"Expected `low` to be > 0 on a logarithmic scale but got {low}.")
    if log and step is not None:
        raise error("Expected `step` or `log` but got both.")
    if step is not None and not math.isclose((high - low) / step, round((high - low) / step), abs_tol=1e-6):
        raise error(f"Expected `high` to be a whole number of steps above `low` but got {low}, {high}, {step}.")
    if all(isinstance(value, int) for value in (low, high, 1 if step is None else step)):
        return IntDistribution(int(low), int(high), log=log, step=1 if step is None else int(step))
    return FloatDistribution(float(low), float(high), log=log, step=step)
