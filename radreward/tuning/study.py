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
from radreward.tuning.samplers import create_sampler
from radreward.tuning.search_space import ParameterValue
from radreward.tuning.storage import open_storage, redact_password, study_lock
from radreward.tuning.study_config import StudyConfig
from radreward.tuning.trial import StudyError, TrialResult, TrialRunner, log_progress, run_trial

SEARCH_DEFINITION_ATTR = "settings"
"""The attribute of a study in the storage that says what it searches."""


class ClaimedTrial(NamedTuple):
    """A trial that this worker runs, and what it tries."""

    trial: Trial
    values: Mapping[str, ParameterValue]
    reclaimed: bool


def run_study(
    config: StudyConfig,
    runner: TrialRunner,
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
    folder = folder or Path("runs") / config.study
    validate_search_space(config, runner)
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # the lines here tell the same
    folder.mkdir(parents=True, exist_ok=True)
    opened = open_storage(storage, folder)
    where = redact_password(storage) if storage else str(folder / "study.db")
    try:
        study = open_study(config, opened, folder, overwrite)
        log_progress(f"study {config.study}: {config.trials} trials, kept in {folder}; storage {where}")
        watch = workers.HeartbeatMonitor()
        gc.freeze()  # what is imported stays: only what trials made is looked through between them
        while task := claim_trial(study, config, watch):
            _run_claimed(study, config, runner, task, folder)
    except StorageInternalError as error:
        raise InputError(
            f"storage {where}: does not answer any more ({error}); start the same command again."
        ) from error
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt("The same command continues the study.") from error
    finally:
        gc.unfreeze()
    return study


def validate_search_space(config: StudyConfig, runner: TrialRunner) -> None:
    """Whether the base takes every kind of sample.

    Raises:
        InputError: If not; names the setting and what was set with it.
    """
    try:
        runner.dump_config(config.base, [])
    except InputError as error:
        raise InputError(f"{config.base}: {error}") from error
    for labels in config.space.conditional_branches():
        arguments = config.overrides_for(labels)
        try:
            runner.dump_config(config.base, arguments)
        except InputError as error:
            raise InputError(f"study {config.study}: {config.base} with {' '.join(arguments)}: {error}") from error


def open_study(config: StudyConfig, storage: BaseStorage, folder: Path, overwrite: bool = False) -> Study:
    """The study of this name in the storage, made where there is none.

    Raises:
        InputError: If one of this name searches something else, or the folder holds trials that are not its own.
    """
    with study_lock(storage, config.study):
        if overwrite:
            with suppress(KeyError):
                optuna.delete_study(storage=storage, study_name=config.study)
            shutil.rmtree(folder / "trials", ignore_errors=True)
        study = optuna.create_study(
            storage=storage,
            study_name=config.study,
            direction=config.direction,  # type: ignore[arg-type]  # one of two words, as `read_settings` checked
            sampler=create_sampler(config),
            pruner=MedianPruner() if config.prune else NopPruner(),
            load_if_exists=True,
        )
        found = study.user_attrs.get(SEARCH_DEFINITION_ATTR)
        if found is None and study.get_trials(deepcopy=False):
            raise InputError(f"study {config.study}: the storage holds one of this name that is of another making.")
        if found is None and any((folder / "trials").glob("*")):
            raise InputError(
                f"{folder / 'trials'}: holds trials of another study, which the storage does not know. "
                "Give another --run, or replace them with --overwrite."
            )
        if found is None:
            study.set_user_attr(SEARCH_DEFINITION_ATTR, dict(config.search_definition))
        elif different := [key for key in config.search_definition if found.get(key) != config.search_definition[key]]:
            raise InputError(
                f"study {config.study}: the storage holds one of this name with another {' and '.join(different)}. "
                "Change its name, or replace it with --overwrite."
            )
    return study


def claim_trial(study: Study, config: StudyConfig, monitor: workers.HeartbeatMonitor) -> ClaimedTrial | None:
    """A trial that a dead worker left behind, or else a new one; None where there is nothing left to do.

    Before it says so it waits until other workers have shown that they are alive.
    """
    while True:
        with study_lock(study._storage, study.study_name):
            trials = study.get_trials(deepcopy=False)
            states = {frozen.number: monitor.status(frozen) for frozen in trials if frozen.state == TrialState.RUNNING}
            left = next((number for number, state in states.items() if state == "dead"), None)
            begun = sum(frozen.state != TrialState.WAITING for frozen in trials)
            if left is not None or begun < config.trials:
                # `Trial` of an id is the one way to go on with a trial that another process began.
                trial = study.ask() if left is None else Trial(study, trials[left]._trial_id)
                workers.write_heartbeat(trial)
                # Within the lock, so that the next worker knows of this choice.
                return ClaimedTrial(trial, config.space.suggest(trial), reclaimed=left is not None)
        if "unknown" not in states.values():
            return None
        time.sleep(workers.HEARTBEAT_INTERVAL / 2)


def _run_claimed(study: Study, config: StudyConfig, runner: TrialRunner, claimed: ClaimedTrial, folder: Path) -> None:
    trial, labels, taken_over = claimed
    folder = folder / "trials" / str(trial.number)
    trial.set_user_attr(workers.FOLDER_ATTR, str(folder.absolute()))
    what = ", ".join(f"{name} {_format_value(label)}" for name, label in labels.items())
    again = ", which another worker left behind" if taken_over else ""
    log_progress(f"trial {trial.number} of {config.trials}{again}: {what}")
    began = time.monotonic()
    with workers.heartbeat(trial):
        try:
            outcome = run_trial(config, runner, trial, labels, folder)
        except StudyError as error:
            _finish_trial(study, trial, TrialResult(TrialState.FAIL, None, str(error)))
            raise
    _finish_trial(study, trial, outcome)
    told = f"{config.metric} {outcome.value:.4f}" if outcome.value is not None else "failed"
    told = ": ".join([told, *([outcome.reason] if outcome.reason else [])])
    log_progress(f"trial {trial.number}: {told}, {time.monotonic() - began:.1f} s; {_progress_summary(study, config)}")


def _finish_trial(study: Study, trial: Trial, result: TrialResult) -> None:
    """Say in the storage how it ended, unless another worker took this one for dead and runs its trial."""
    if not workers.is_own_trial(study.get_trials(deepcopy=False)[trial.number]):
        log_progress(
            f"trial {trial.number}: another worker took it over, because this one gave no sign; its result counts"
        )
        return
    if result.reason:
        trial.set_user_attr("reason", result.reason)
    # Of a pruned trial Optuna takes the last report for its value.
    value = result.value if result.state == TrialState.COMPLETE else None
    study.tell(trial, value, result.state)


def _progress_summary(study: Study, config: StudyConfig) -> str:
    trials = study.get_trials(deepcopy=False)
    done = [frozen for frozen in trials if frozen.state.is_finished()]
    left = config.trials - len(done)
    spent = [frozen.duration.total_seconds() for frozen in done if frozen.duration]
    minutes = left * sum(spent) / max(1, len(spent)) / 60
    best = [frozen for frozen in done if frozen.state == TrialState.COMPLETE]
    told = f"best {study.best_value:.4f} (trial {study.best_trial.number})" if best else "none finished yet"
    return f"{told}; {left} left, {minutes:.0f} min of one worker"


def _format_value(value: ParameterValue) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
