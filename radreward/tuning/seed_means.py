"""Settings of a study, ranked by their mean over seeds if the seed is searched."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from radreward.tuning.retries import last_attempts
from radreward.tuning.runs import SEED_KEY


class SettingsResult(NamedTuple):
    """One combination of settings with its trials, which differ only in the seed.

    Attributes:
        values: Value of each seed. A pruned seed counts with its last value; without it, lucky seeds would decide.
        best_trial: The complete trial with the best value.
        is_mean: True if the seed is searched.
    """

    values: tuple[float, ...]
    best_trial: FrozenTrial
    is_mean: bool

    @property
    def value(self) -> float:
        """Mean over seeds."""
        return statistics.fmean(self.values)

    @property
    def std(self) -> float | None:
        """Sample standard deviation over seeds; None for one seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def description(self) -> str:
        """Words for the value, such as "mean of 3 seeds"."""
        return f"mean of {len(self.values)} seed{'s' * (len(self.values) > 1)}"


def rank_settings(study: Study) -> list[SettingsResult]:
    """Return the settings with a complete trial, best first. Equal values are in the order of their trials.

    If no trial has a searched seed, every complete trial is a setting of its own.
    """
    sign = -1 if study.direction == StudyDirection.MAXIMIZE else 1
    groups: dict[object, dict[object, tuple[float, FrozenTrial]]] = {}  # settings → seed → value and trial
    for number, trial in last_attempts(study).items():
        finished = trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
        if finished and trial.value is not None and math.isfinite(trial.value):
            settings = tuple(sorted((name, repr(value)) for name, value in trial.params.items() if name != SEED_KEY))
            by_seed = groups.setdefault(settings if SEED_KEY in trial.params else number, {})
            by_seed.setdefault(trial.params.get(SEED_KEY), (trial.value, trial))
    results = []
    for group in groups.values():
        if complete := [entry for entry in group.values() if entry[1].state == TrialState.COMPLETE]:
            _, best = min(complete, key=lambda entry: sign * entry[0])
            results.append(SettingsResult(tuple(value for value, _ in group.values()), best, SEED_KEY in best.params))
    return sorted(results, key=lambda result: sign * result.value)
