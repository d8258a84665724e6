"""Arms of a comparison: runs that differ in their seed alone, named by what sets them apart from the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from radreward.comparison.runs import SEED_KEY, FinishedRun, FlatSettings
from radreward.errors import InputError

_CLASS_PATH = re.compile(r"([a-z_]\w*\.)+[A-Z]\w*")
"""An import path of a class."""


class RunGroup(NamedTuple):
    """Runs over which figures are averaged.

    Attributes:
        name: What sets it apart.
        runs: In the order given; at least one.
    """

    name: str
    runs: tuple[FinishedRun, ...]


def group_by_seed(runs: Sequence[FinishedRun]) -> list[RunGroup]:
    """Runs with equal settings, seeds aside, in one arm; arms in the order in which they first appear.

    The name is what a study chose, where that tells the arms apart: `both` for a variant, `lambda_=0.5` for a setting.
    Else it is the settings that differ, and of a single arm its first folder.

    Raises:
        InputError: If two runs of an arm have the same seed: they would count twice.
    """
    arms = _group_runs(runs, lambda run: tuple(sorted(run.settings.items())))
    for members in arms:
        by_seed: dict[str, FinishedRun] = {}
        for run in members:
            if run.seed in by_seed:
                raise InputError(
                    f"{by_seed[run.seed].folder} and {run.folder}: have the same settings and the same {SEED_KEY}, "
                    f"{run.seed}: one run, made twice, is not two."
                )
            by_seed[run.seed] = run
    return [RunGroup(name, tuple(members)) for name, members in zip(_group_names(arms), arms, strict=True)]


def group_by_setting(runs: Sequence[FinishedRun], key: str) -> list[RunGroup]:
    """Runs with an equal value of one setting in one arm, whatever else differs.

    Args:
        runs: The runs.
        key: A dotted key of `fit`, its end, or the name of a study's variants.

    Raises:
        InputError: If no run, or not every run, has this key, or several keys end so; names it.
    """
    known = [{**run.settings, **run.params} for run in runs]
    every = dict.fromkeys(name for settings in known for name in settings)
    full = [name for name in every if name == key] or [name for name in every if name.endswith(f".{key}")]
    if len(full) != 1:
        told = f"several settings end so: {', '.join(full)}" if full else "there is no such setting or variant"
        raise InputError(f"--by {key}: {told}.")
    for run, settings in zip(runs, known, strict=True):
        if full[0] not in settings:
            raise InputError(f"--by {key}: {run.folder} has no {full[0]}.")
    value_of = {id(run): settings[full[0]] for run, settings in zip(runs, known, strict=True)}
    arms = _group_runs(runs, lambda run: value_of[id(run)])
    return [
        RunGroup(name, tuple(members))
        for name, members in zip(_shorten_class_paths([value_of[id(arm[0])] for arm in arms]), arms, strict=True)
    ]


def _group_runs(runs: Sequence[FinishedRun], key: Callable[[FinishedRun], object]) -> list[list[FinishedRun]]:
    arms: dict[object, list[FinishedRun]] = {}
    for run in runs:
        arms.setdefault(key(run), []).append(run)
    return list(arms.values())


def _group_names(groups: Sequence[Sequence[FinishedRun]]) -> list[str]:
    if len(groups) == 1:
        return [str(groups[0][0].folder)]
    chosen = _setting_labels([arm[0].params for arm in groups], variant_names=True)
    if all(arm[0].params for arm in groups) and len(set(chosen)) == len(groups):
        return chosen
    return _setting_labels([arm[0].settings for arm in groups], variant_names=False)


def _setting_labels(settings: Sequence[FlatSettings], variant_names: bool) -> list[str]:
    """What differs between these settings, each as `key=value`; of a study's variants only the value."""
    differing = _differing_keys(settings)
    short = _shortest_suffixes(differing)
    parts: list[list[str]] = [[] for _ in settings]
    for key in differing:
        shown = iter(_shorten_class_paths([entry[key] for entry in settings if key in entry]))
        for told, entry in zip(parts, settings, strict=True):
            if key in entry:
                value = next(shown)
                told.append(value if variant_names and "." not in key else f"{short[key]}={value}")
            elif not _has_parent(key, differing):
                told.append(f"no {short[key]}")
    return [", ".join(told) for told in parts]


def _differing_keys(settings: Sequence[FlatSettings]) -> list[str]:
    """Keys whose values differ, without those that come and go with a class that differs anyway."""
    every = dict.fromkeys(key for entry in settings for key in entry)
    apart = [key for key in every if len({entry.get(key) for entry in settings}) > 1]
    return [key for key in apart if len(_distinct_values(key, settings)) > 1 or not _has_parent(key, apart)]


def _distinct_values(key: str, settings: Iterable[Mapping[str, str]]) -> set[str]:
    return {entry[key] for entry in settings if key in entry}


def _has_parent(key: str, keys: Sequence[str]) -> bool:
    return any(key.startswith(f"{other}.") for other in keys)


def _shortest_suffixes(keys: Sequence[str]) -> dict[str, str]:
    """The shortest end of each dotted key that no other one has."""
    found = {}
    for key in keys:
        parts = key.split(".")
        ends = [".".join(parts[at:]) for at in range(len(parts) - 1, -1, -1)]
        found[key] = next(end for end in ends if sum(other == end or other.endswith(f".{end}") for other in keys) == 1)
    return found


def _shorten_class_paths(values: Sequence[str]) -> list[str]:
    """Import paths of classes by the name of the class, where that tells them apart."""
    ends = [value.rsplit(".", 1)[-1] if _CLASS_PATH.fullmatch(value) else value for value in values]
    return ends if len(set(ends)) == len(set(values)) else list(values)
