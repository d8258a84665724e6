"""The file of a study: what is searched, how, and what tells a good trial.

```yaml
study: margin                             # its name in the storage; its folder is runs/margin
base: experiments/studies/quick.yaml    # a configuration of `fit`; --base puts another in its place
sampler: tpe                              # tpe, random, or grid: all combinations, in the order of the file
trials: 20                                # in total, over all workers and all starts; not with grid
seed: 0                                   # of the sampler
metric: val_tau                           # what a module logs at validations
direction: maximize                       # or minimize
prune: true                               # stop trials that are worse than the median of the others
overrides: {trainer.max_steps: 60}        # settings of every trial, by dotted key
space:                                    # see `radreward.tuning.search_space`
  model.objective.lambda_: {low: 0.1, high: 3.0, log: true}
```

A trial is what `radreward fit` does with the base, the overrides and what the sampler chose, kept in the folder
`trials/<number>` of the study. Only `study`, `base` and `space` have no default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from radreward.errors import InputError
from radreward.tuning.search_space import ParameterValue, SearchSpace

_DEFAULTS: dict[str, Any] = {
    "sampler": "tpe",
    "trials": None,
    "seed": 0,
    "metric": "val_tau",
    "direction": "maximize",
    "prune": True,
    "overrides": {},
}
_REQUIRED = ("study", "base", "space")
_KEY_TYPES = {"study": str, "base": str, "seed": int, "metric": str, "prune": bool, "overrides": dict}
_CHOICES = {"sampler": ("tpe", "random", "grid"), "direction": ("maximize", "minimize")}


class StudyConfig(NamedTuple):
    """What the file of a study says, checked.

    Attributes:
        study: Its name in the storage.
        base: A configuration of `fit`.
        sampler: tpe, random or grid.
        trials: In total.
        seed: Of the sampler.
        metric: What tells a good trial.
        direction: maximize or minimize.
        prune: Whether trials below the median end early.
        overrides: Settings of every trial, by dotted key.
        space: What is searched.
        identity: What must be the same where a study is continued: all but the number of trials.
    """

    study: str
    base: Path
    sampler: str
    trials: int
    seed: int
    metric: str
    direction: str
    prune: bool
    overrides: Mapping[str, Any]
    space: SearchSpace
    search_definition: Mapping[str, Any]

    def overrides_for(self, values: Mapping[str, ParameterValue]) -> list[str]:
        """What a trial with these values sets, as `key=value`.

        Values of the sampler win over `overrides`. Shorter keys come first: a class before its own settings.
        """
        chosen = {**self.overrides, **self.space.overrides(values)}
        return [f"{key}={_to_argument(chosen[key])}" for key in sorted(chosen, key=lambda key: key.count("."))]


def load_study_config(
    path: Path, base: Path | None = None, trials: int | None = None, overrides: Sequence[str] = ()
) -> StudyConfig:
    """Read the file of a study.

    Args:
        path: The file.
        base: In the place of the file's own.
        trials: In the place of the file's own.
        overrides: `key=value`, in addition to the file's own.

    Raises:
        InputError: If something in it cannot be used; names the file and the key.
    """
    try:
        return _parse_config(_read_yaml(path), base, trials, overrides)
    except InputError as error:
        raise InputError(error if str(error).startswith(str(path)) else f"{path}: {error}") from error


def _parse_config(
    given: dict[str, Any], base: Path | None, trials: int | None, overrides: Sequence[str]
) -> StudyConfig:
    if unknown := sorted(set(map(str, given)) - {*_DEFAULTS, *_REQUIRED}):
        raise InputError(f"unknown key {unknown[0]!r}; Expected {', '.join([*_REQUIRED, *_DEFAULTS])}.")
    found = {**_DEFAULTS, **given}
    if base is not None:
        found["base"] = str(base)
    for key in _REQUIRED:
        if key not in found:
            raise InputError(f"{key}: Expected to be given.")
    for key, kind in _KEY_TYPES.items():
        value = found[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise InputError(f"{key}: Expected a {kind.__name__} but got {value!r}.")
    for key, choices in _CHOICES.items():
        if found[key] not in choices:
            raise InputError(f"{key}: Expected one of {', '.join(choices)} but got {found[key]!r}.")
    if not found["study"] or "/" in found["study"] or found["study"].startswith("."):
        raise InputError(f"study: Expected a name that can be a folder's but got {found['study']!r}.")
    if found["seed"] < 0:
        raise InputError(f"seed: Expected to be >= 0 but got {found['seed']}.")
    space = SearchSpace(found["space"])
    found["overrides"] = {**found["overrides"], **dict(_parse_override(entry) for entry in overrides)}
    found["trials"] = _trial_count(found, space, trials)
    identity = {key: found[key] for key in (*_DEFAULTS, "space") if key != "trials"}
    identity["base"] = _read_yaml(Path(found["base"]))  # what it says, wherever it lies
    return StudyConfig(
        **{key: found[key] for key in ("study", *_DEFAULTS)},
        base=Path(found["base"]),
        space=space,
        search_definition=json.loads(json.dumps(identity, default=str)),
    )


def _trial_count(found: Mapping[str, Any], space: SearchSpace, trials: int | None) -> int:
    if found["sampler"] == "grid":
        if trials is not None or found["trials"] is not None:
            raise InputError("trials: Expected none with the sampler grid, which tries all combinations.")
        return len(space.grid())
    total = found["trials"] if trials is None else trials
    if isinstance(total, bool) or not isinstance(total, int) or total < 1:
        raise InputError(f"trials: Expected a whole number >= 1 but got {total!r}.")
    return total


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InputError(f"{path}{where}: Expected YAML but it cannot be read.") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: Expected settings by name but got {found!r}.")
    return found


def _parse_override(entry: str) -> tuple[str, str]:
    key, sign, value = entry.removeprefix("--").partition("=")
    if not sign or not key:
        raise InputError(f"{entry}: Expected dotted.key=value.")
    return key, value


def _to_argument(value: Any) -> str:
    """A value as on a command line."""
    return value if isinstance(value, str) else json.dumps(value)
