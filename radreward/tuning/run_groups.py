"""Groups of runs that are averaged, named by the settings in which they differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from radreward.errors import InputError
from radreward.tuning.runs import SEED_KEY, FinishedRun, FlatSettings

_DECIMAL = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?")
_CLASS_PATH = re.compile(r"([a-z_]\w*\.)+[A-Z]\w*")
"""Import path of a class."""


class RunGroup(NamedTuple):
    """Runs over which metrics are averaged.

    Attributes:
        name: The settings that differ from other groups.
        runs: At least one run, in the given order.
    """

    name: str
    runs: tuple[FinishedRun, ...]


def group_by_seed(runs: Sequence[FinishedRun]) -> list[RunGroup]:
    """Group runs that differ only in their seed. Groups are in order of appearance.

    Groups are named by the parameters of a study if these differ: `both` for a variant, `lambda_=0.5` for a setting.
    Otherwise they are named by the settings that differ. A single group is named by its variants, by the parameters of
    a study if it has several runs, or by its folder.

    Raises:
        InputError: If two runs of a group have the same seed.
    """
    groups = _group_runs(runs, lambda run: tuple(sorted(run.settings.items())))
    for members in groups:
        by_seed: dict[str, FinishedRun] = {}
        for run in members:
            if run.seed in by_seed:
                raise InputError(
                    f"{by_seed[run.seed].folder} and {run.folder}: Expected different seeds but both have the same "
                    f"settings and {SEED_KEY} {run.seed}; the same run would count twice."
                )
            by_seed[run.seed] = run
    return [RunGroup(name, tuple(members)) for name, members in zip(_group_names(groups), groups, strict=True)]


def group_by_setting(runs: Sequence[FinishedRun], key: str) -> list[RunGroup]:
    """Group runs with an equal value of one setting. Other settings may differ.

    Args:
        runs: The runs.
        key: A dotted key of `fit`, its last parts, or the name of a study's variants.

    Raises:
        InputError: If a run has no such key, or the key is ambiguous.
    """
    settings = [{**run.settings, **run.params} for run in runs]
    keys = dict.fromkeys(name for entry in settings for name in entry)
    matches = [name for name in keys if name == key] or [name for name in keys if name.endswith(f".{key}")]
    if len(matches) != 1:
        problem = f"several settings end with it: {', '.join(matches)}" if matches else "no setting has this name"
        raise InputError(f"--group-by {key}: Expected the name of one setting but {problem}.")
    [name] = matches
    for run, entry in zip(runs, settings, strict=True):
        if name not in entry:
            raise InputError(f"--group-by {key}: {run.folder} has no setting {name}.")
    values = {id(run): entry[name] for run, entry in zip(runs, settings, strict=True)}
    groups = _group_runs(runs, lambda run: values[id(run)])
    names = _shorten_values([values[id(members[0])] for members in groups])
    return [RunGroup(name, tuple(members)) for name, members in zip(names, groups, strict=True)]


def _group_runs(runs: Sequence[FinishedRun], key: Callable[[FinishedRun], object]) -> list[list[FinishedRun]]:
    groups: dict[object, list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return list(groups.values())


def _group_names(groups: Sequence[Sequence[FinishedRun]]) -> list[str]:
    if len(groups) == 1:
        return [_single_group_name(groups[0])]
    names = _setting_labels([members[0].params for members in groups], variant_names=True)
    if all(members[0].params for members in groups) and len(set(names)) == len(groups):
        return names
    return _setting_labels([members[0].settings for members in groups], variant_names=False)


def _single_group_name(runs: Sequence[FinishedRun]) -> str:
    params = runs[0].params
    variants = [value for key, value in params.items() if _names_variants(key)]
    if variants or len(runs) == 1 or not params:
        return ", ".join(variants) or str(runs[0].folder)
    short_keys, values = shortest_suffixes(list(params)), _shorten_values(list(params.values()))
    return ", ".join(f"{short_keys[key]}={value}" for key, value in zip(params, values, strict=True))


def _names_variants(key: str) -> bool:
    """Return True for a parameter of a study that names variants; a setting of `fit` that is searched has a dot."""
    return "." not in key


def _setting_labels(settings: Sequence[FlatSettings], variant_names: bool) -> list[str]:
    """Return the differing settings of each entry as `key=value`. With `variant_names`, variants are values only."""
    differing = _differing_keys(settings)
    short_keys = shortest_suffixes(differing)
    labels: list[list[str]] = [[] for _ in settings]
    for key in differing:
        values = iter(_shorten_values([entry[key] for entry in settings if key in entry]))
        for label, entry in zip(labels, settings, strict=True):
            if key in entry:
                value = next(values)
                label.append(value if variant_names and _names_variants(key) else f"{short_keys[key]}={value}")
            elif not _has_parent(key, differing):
                label.append(f"no {short_keys[key]}")
    return [", ".join(label) for label in labels]


def _differing_keys(settings: Sequence[FlatSettings]) -> list[str]:
    """Return the keys with different values, without arguments that only one of several differing classes has."""
    values: dict[str, set[str]] = {}
    for key, value in ((key, value) for entry in settings for key, value in entry.items()):
        values.setdefault(key, set()).add(value)
    differing = [key for key in values if len({entry.get(key) for entry in settings}) > 1]
    return [key for key in differing if len(values[key]) > 1 or not _has_parent(key, differing)]


def _has_parent(key: str, keys: Sequence[str]) -> bool:
    return any(key.startswith(f"{parent}.") for parent in keys)


def shortest_suffixes(keys: Sequence[str]) -> dict[str, str]:
    """Return the shortest unique suffix of each dotted key.

    >>> shortest_suffixes(["model.lr", "model.p.low", "data.p.low"])
    {'model.lr': 'lr', 'model.p.low': 'model.p.low', 'data.p.low': 'data.p.low'}
    """
    suffixes = {}
    for key in keys:
        parts = key.split(".")
        candidates = [".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]
        suffixes[key] = next(
            suffix for suffix in candidates if sum(f".{name}".endswith(f".{suffix}") for name in keys) == 1
        )
    return suffixes


def _shorten_values(values: Sequence[str]) -> list[str]:
    """Return class paths as class names, and numbers with three significant digits, if these are unique."""
    names = [value.rsplit(".", 1)[-1] if _CLASS_PATH.fullmatch(value) else _shorten_number(value) for value in values]
    return names if len(set(names)) == len(set(values)) else list(values)


def _shorten_number(value: str) -> str:
    """Return a number of more than three significant digits with three. Other values are unchanged."""
    short = f"{float(value):.3g}" if _DECIMAL.fullmatch(value) else value
    return value if short == value or float(short) == float(value) else short
