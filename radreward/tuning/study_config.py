"""The YAML file of a study: what is searched, with which sampler and budget, and by which metric.

```yaml
study: margin                             # name in the storage; files go to runs/margin
base: experiments/studies/quick.yaml      # configuration of `fit`; the option --base replaces it
sampler: tpe                              # tpe, random, or grid: all combinations, in the order of the file
trials: 20                                # total over all workers and restarts; of a grid, the first ones, or all
seed: 0                                   # seed of the sampler
metric: val_tau                           # a metric that the module logs at validation
direction: maximize                       # or minimize
prune: true                               # stop trials that are worse than the median trial
overrides: {trainer.max_steps: 60}        # settings of every trial, by dotted key
space:                                    # see `radreward.tuning.search_space`
  model.objective.lambda_: {low: 0.1, high: 3.0, log: true}
```

A trial is a run of `radreward fit` with the base configuration, the overrides and the sampled values, in the folder
`trials/<number>` of the study. Only `study`, `base` and `space` are required.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from radreward.errors import InputError
from radreward.io.yaml_files import read_yaml_mapping
from radreward.tuning.sampler_names import SAMPLERS
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
_CHOICES = {"sampler": tuple(SAMPLERS), "direction": ("maximize", "minimize")}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyConfig:
    """Validated contents of a study file.

    Attributes:
        study: Name of the study in the storage.
        base: Configuration of `fit`.
        sampler: tpe, random or grid.
        trials: Total number of trials.
        seed: Seed of the sampler.
        metric: Logged metric that is optimized.
        direction: maximize or minimize.
        prune: Stop trials that are worse than the median trial.
        overrides: Settings of every trial, by dotted key.
        space: The search space.
        search_definition: Everything but the number of trials. It must be unchanged when a study is resumed.
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
        """Return the settings of a trial with these values, as `key=value`.

        Sampled values win over `overrides`. Shorter keys come first: a class before its own settings.
        """
        settings = {**self.overrides, **self.space.overrides(values)}
        return [f"{key}={_to_argument(settings[key])}" for key in sorted(settings, key=lambda key: key.count("."))]


def load_study_config(
    path: Path, base: Path | None = None, trials: int | None = None, overrides: Sequence[str] = ()
) -> StudyConfig:
    """Read and validate a study file.

    Args:
        path: The YAML file.
        base: Replaces `base` of the file.
        trials: Replaces `trials` of the file.
        overrides: `key=value` entries, added to the overrides in the file.

    Raises:
        InputError: If the file is invalid. The message names the file and the key.
    """
    try:
        return _parse_config(read_yaml_mapping(path), base, trials, overrides)
    except InputError as error:
        raise InputError(error if str(error).startswith(str(path)) else f"{path}: {error}") from error


def _parse_config(
    contents: dict[str, Any], base: Path | None, trials: int | None, overrides: Sequence[str]
) -> StudyConfig:
    if unknown := sorted(set(map(str, contents)) - {*_DEFAULTS, *_REQUIRED}):
        raise InputError(f"Expected the keys {', '.join([*_REQUIRED, *_DEFAULTS])} but got {unknown[0]!r}.")
    entries = {**_DEFAULTS, **contents}
    if base is not None:
        entries["base"] = str(base)
    for key in _REQUIRED:
        if key not in entries:
            raise InputError(f"{key}: Expected a value but the key is missing.")
    for key, expected in _KEY_TYPES.items():
        value = entries[key]
        if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
            raise InputError(f"{key}: Expected a value of type {expected.__name__} but got {value!r}.")
    for key, choices in _CHOICES.items():
        if entries[key] not in choices:
            raise InputError(f"{key}: Expected one of {', '.join(choices)} but got {entries[key]!r}.")
    if not entries["study"] or "/" in entries["study"] or entries["study"].startswith("."):
        raise InputError(f"study: Expected a valid folder name but got {entries['study']!r}.")
    if entries["seed"] < 0:
        raise InputError(f"seed: Expected a number >= 0 but got {entries['seed']}.")
    space = SearchSpace(entries["space"])
    entries["overrides"] = {**entries["overrides"], **dict(_parse_override(entry) for entry in overrides)}
    entries["trials"] = _trial_count(entries, space, trials)
    definition = {key: entries[key] for key in (*_DEFAULTS, "space") if key != "trials"}
    definition["base"] = read_yaml_mapping(entries["base"])  # the contents: the file may be moved
    return StudyConfig(
        **{key: entries[key] for key in ("study", *_DEFAULTS)},
        base=Path(entries["base"]),
        space=space,
        search_definition=json.loads(json.dumps(definition, default=str)),
    )


def _trial_count(entries: Mapping[str, Any], space: SearchSpace, trials: int | None) -> int:
    total = entries["trials"] if trials is None else trials
    most = len(space.grid()) if entries["sampler"] == "grid" else None
    if total is None and most is not None:
        return most
    if isinstance(total, bool) or not isinstance(total, int) or total < 1:
        raise InputError(f"trials: Expected an integer >= 1 but got {total!r}.")
    if most is not None and total > most:
        raise InputError(f"trials: Expected at most {most}, the combinations of the grid, but got {total}.")
    return total


def _parse_override(entry: str) -> tuple[str, str]:
    key, sign, value = entry.removeprefix("--").partition("=")
    if not sign or not key:
        raise InputError(f"Expected a setting as dotted.key=value but got {entry!r}.")
    return key, value


def _to_argument(value: Any) -> str:
    """Return a value as it is written on the command line."""
    return value if isinstance(value, str) else json.dumps(value)
