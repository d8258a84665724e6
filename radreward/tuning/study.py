"""A study: workers take trials from a storage until there are as many as were asked for."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import optuna
from optuna.exceptions import StorageInternalError
from optuna.pruners import MedianPruner, NopPruner
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import Trial, TrialState

from radreward.errors import InputError
from radreward.tuning import heartbeat as workers
from radreward.tuning.samplers import make_sampler
from radreward.tuning.search_space import Label
from radreward.tuning.storage import exclusive, open_storage, shown
from radreward.tuning.study_config import StudySettings
from radreward.tuning.trial import Outcome, Runner, StudyError, run_trial, tell

IDENTITY = "settings"
"""The attribute of a study in the storage that says what it searches."""


class Task(NamedTuple):
    """A trial that this worker runs, and what it tries."""

    trial: Trial
    labels: Mapping[str, Label]
    taken_over: bool


def run_study(
    settings: StudySettings,
    runner: Runner,
    folder: Path | None = None,
    storage: str | None = None,
    overwrite: bool = False,
) -> Study:
    """Run trials until the study has as many as it should, together with whoever else runs it.

    Given again, it continues: trials that a killed worker left behind are run to their end, under their numbers.

    Args:
        settings: The study.
        runner: How settings become a training.
        folder: For its files; `runs/<study>` where nothing is given.
        storage: URL of the storage, see `open_storage`.
        overwrite: Whether a study of this name and its trials' folders are deleted first.

    Raises:
        InputError: If settings do not fit, or the storage cannot be used or holds another study of this name.
        KeyboardInterrupt: If it was stopped.
    """
    folder = folder or Path("runs") / settings.study
    check(settings, runner)
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # the lines here tell the same
    folder.mkdir(parents=True, exist_ok=True)
    opened = open_storage(storage, folder)
    where = shown(storage) if storage else str(folder / "study.db")
    try:
        study = join(settings, opened, folder, overwrite)
        tell(f"study {settings.study}: {settings.trials} trials, kept in {folder}; storage {where}")
        watch = workers.Watch()
        gc.freeze()  # what is imported stays: only what trials made is looked through between them
        while task := next_task(study, settings, watch):
            _run(study, settings, runner, task, folder)
    except StorageInternalError as error:
        raise InputError(
            f"storage {where}: does not answer any more ({error}); start the same command again."
        ) from error
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt("The same command continues the study.") from error
    finally:
        gc.unfreeze()
    return study


def check(settings: StudySettings, runner: Runner) -> None:
    """Whether the base takes every kind of sample.

    Raises:
        InputError: If not; names the setting and what was set with it.
    """
    try:
        runner.describe(settings.base, [])
    except InputError as error:
        raise InputError(f"{settings.base}: {error}") from error
    for labels in settings.space.branches():
        arguments = settings.arguments(labels)
        try:
            runner.describe(settings.base, arguments)
        except InputError as error:
            raise InputError(f"study {settings.study}: {settings.base} with {' '.join(arguments)}: {error}") from error


def join(settings: StudySettings, storage: BaseStorage, folder: Path, overwrite: bool = False) -> Study:
    """The study of this name in the storage, made where there is none.

    Raises:
        InputError: If one of this name searches something else, or the folder holds trials that are not its own.
    """
    with exclusive(storage, settings.study):
        if overwrite:
            with suppress(KeyError):
                optuna.delete_study(storage=storage, study_name=settings.study)
            shutil.rmtree(folder / "trials", ignore_errors=True)
        study = optuna.create_study(
            storage=storage,
            study_name=settings.study,
            direction=settings.direction,  # type: ignore[arg-type]  # one of two words, as `read_settings` checked
            sampler=make_sampler(settings),
            pruner=MedianPruner() if settings.prune else NopPruner(),
            load_if_exists=True,
        )
        found = study.user_attrs.get(IDENTITY)
        if found is None and study.get_trials(deepcopy=False):
            raise InputError(f"study {settings.study}: the storage holds one of this name that is of another making.")
        if found is None and any((folder / "trials").glob("*")):
            raise InputError(
                f"{folder / 'trials'}: holds trials of another study, which the storage does not know. "
                "Give another --run, or replace them with --overwrite."
            )
        if found is None:
            study.set_user_attr(IDENTITY, dict(settings.identity))
        elif different := [key for key in settings.identity if found.get(key) != settings.identity[key]]:
            raise InputError(
                f"study {settings.study}: the storage holds one of this name with another {' and '.join(different)}. "
                "Change its name, or replace it with --overwrite."
            )
    return study


def next_task(study: Study, settings: StudySettings, watch: workers.Watch) -> Task | None:
    """A trial that a dead worker left behind, or else a new one; None where there is nothing left to do.

    Before it says so it waits until other workers have shown that they are alive.
    """
    while True:
        with exclusive(study._storage, study.study_name):
            trials = study.get_trials(deepcopy=False)
            states = {frozen.number: watch.look(frozen) for frozen in trials if frozen.state == TrialState.RUNNING}
            left = next((number for number, state in states.items() if state == "dead"), None)
            begun = sum(frozen.state != TrialState.WAITING for frozen in trials)
            if left is not None or begun < settings.trials:
                # `Trial` of an id is the one way to go on with a trial that another process began.
                trial = study.ask() if left is None else Trial(study, trials[left]._trial_id)
                workers.mark(trial)
                # Within the lock, so that the next worker knows of this choice.
                return Task(trial, settings.space.suggest(trial), taken_over=left is not None)
        if "unknown" not in states.values():
            return None
        time.sleep(workers.BEAT / 2)


def _run(study: Study, settings: StudySettings, runner: Runner, task: Task, folder: Path) -> None:
    trial, labels, taken_over = task
    folder = folder / "trials" / str(trial.number)
    trial.set_user_attr(workers.FOLDER, str(folder.absolute()))
    what = ", ".join(f"{name} {_short(label)}" for name, label in labels.items())
    again = ", which another worker left behind" if taken_over else ""
    tell(f"trial {trial.number} of {settings.trials}{again}: {what}")
    began = time.monotonic()
    with workers.alive(trial):
        try:
            outcome = run_trial(settings, runner, trial, labels, folder)
        except StudyError as error:
            _finish(study, trial, Outcome(TrialState.FAIL, None, str(error)))
            raise
    _finish(study, trial, outcome)
    told = f"{settings.metric} {outcome.value:.4f}" if outcome.value is not None else "failed"
    told = ": ".join([told, *([outcome.reason] if outcome.reason else [])])
    tell(f"trial {trial.number}: {told}, {time.monotonic() - began:.1f} s; {_standing(study, settings)}")


def _finish(study: Study, trial: Trial, outcome: Outcome) -> None:
    """Say in the storage how it ended, unless another worker took this one for dead and runs its trial."""
    if not workers.owns(study.get_trials(deepcopy=False)[trial.number]):
        tell(f"trial {trial.number}: another worker took it over, because this one gave no sign; its result counts")
        return
    if outcome.reason:
        trial.set_user_attr("reason", outcome.reason)
    # Of a pruned trial Optuna takes the last report for its value.
    value = outcome.value if outcome.state == TrialState.COMPLETE else None
    study.tell(trial, value, outcome.state)


def _standing(study: Study, settings: StudySettings) -> str:
    trials = study.get_trials(deepcopy=False)
    done = [frozen for frozen in trials if frozen.state.is_finished()]
    left = settings.trials - len(done)
    spent = [frozen.duration.total_seconds() for frozen in done if frozen.duration]
    minutes = left * sum(spent) / max(1, len(spent)) / 60
    best = [frozen for frozen in done if frozen.state == TrialState.COMPLETE]
    told = f"best {study.best_value:.4f} (trial {study.best_trial.number})" if best else "none finished yet"
    return f"{told}; {left} left, {minutes:.0f} min of one worker"


def _short(label: Label) -> str:
    return f"{label:.4g}" if isinstance(label, float) else str(label)
