"""Studies: workers claim trials from a shared storage until the study has its total number of trials."""

from __future__ import annotations

import gc
import os
import re
import shutil
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import optuna
from optuna.exceptions import StorageInternalError
from optuna.pruners import MedianPruner, NopPruner
from optuna.storages import BaseStorage
from optuna.storages._heartbeat import get_heartbeat_thread
from optuna.study import Study
from optuna.trial import Trial, TrialState

from radreward.errors import InputError
from radreward.io.outputs import claimed_file, folder_entries
from radreward.io.terminal import print_status
from radreward.tuning.heartbeat import FOLDER_ATTR, abandoned_trial, is_own_trial, take_ownership
from radreward.tuning.samplers import create_sampler
from radreward.tuning.search_space import MAX_SHOWN_PARAMETERS, ParameterValue
from radreward.tuning.storage import open_storage, redact_password, study_lock
from radreward.tuning.study_config import StudyConfig
from radreward.tuning.trial import StudyError, TrialResult, TrialRunner, run_trial

SEARCH_DEFINITION_ATTR = "search_definition"
"""User attribute of a study: its search definition."""


class ClaimedTrial(NamedTuple):
    """A trial owned by this worker, with its sampled values."""

    trial: Trial
    values: Mapping[str, ParameterValue]
    reclaimed: bool
    """True if a dead worker left it behind."""


def run_study(
    config: StudyConfig,
    runner: TrialRunner,
    folder: Path | None = None,
    storage: str | None = None,
    overwrite: bool = False,
) -> Study:
    """Run trials, together with any other worker of the study, until the study is complete.

    Called again, it resumes the study: trials of killed workers are resumed under their numbers.

    Args:
        config: The study.
        runner: Builds the training of a trial.
        folder: Folder of the study; defaults to `runs/<study>`.
        storage: URL of the storage, see `open_storage`.
        overwrite: Delete a study of this name and its trial folders first.

    Raises:
        InputError: If settings are invalid, or the storage cannot be used or holds another study of this name.
        KeyboardInterrupt: If interrupted.
    """
    folder = folder or Path("runs") / config.study
    validate_search_space(config, runner)
    foreign = [] if overwrite else _foreign_entries(folder)
    if foreign and not storage and not (folder / "study.db").exists():  # before the storage creates this file
        raise _foreign_error(config, folder, foreign)
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # `print_status` prints the same
    with claimed_file(folder / f"worker-{os.getpid()}"):  # found writable before a trial; workers share the folder
        opened = open_storage(storage, folder)
    location = redact_password(storage) if storage else str(folder / "study.db")
    try:
        study = open_study(config, opened, folder, overwrite, foreign)
        print_status(f"study {config.study}: {config.trials} trials in {folder}; storage {location}")
        gc.freeze()  # exclude imported modules from the collection after each trial
        while claimed := claim_trial(study, config):
            _run_claimed(study, config, runner, claimed, folder)
    except StorageInternalError as error:
        raise InputError(
            f"storage {location}: no longer responds ({error}); run the same command again to resume."
        ) from error
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt("Run the same command again to resume the study.") from error
    finally:
        gc.unfreeze()
    return study


def _foreign_entries(folder: Path) -> list[str]:
    """Return the names of files and folders that no study writes first; another worker may have created these."""
    entries = folder_entries(folder) if folder.is_dir() else []
    own = re.compile(r"\..*|study\.db.*|.*\.journal.*|trials")
    return [path.name for path in entries if not own.fullmatch(path.name)]


def _foreign_error(config: StudyConfig, folder: Path, foreign: Sequence[str]) -> InputError:
    return InputError(
        f"{folder}: Expected a folder that is new, empty or holds the study {config.study} but it holds {foreign[0]}. "
        "Choose another --run-dir."
    )


def validate_search_space(config: StudyConfig, runner: TrialRunner) -> None:
    """Check that the base config accepts every branch of the search space.

    Raises:
        InputError: If it does not; names the setting and the overrides.
    """
    try:
        runner.dump_config(config.base, [])
    except InputError as error:
        raise InputError(f"{config.base}: {error}") from error
    for values in config.space.conditional_branches():
        overrides = config.overrides_for(values)
        try:
            runner.dump_config(config.base, overrides)
        except InputError as error:
            raise InputError(f"study {config.study}: {config.base} with {' '.join(overrides)}: {error}") from error


def open_study(
    config: StudyConfig, storage: BaseStorage, folder: Path, overwrite: bool = False, foreign: Sequence[str] = ()
) -> Study:
    """Load the study from the storage, or create it.

    Args:
        config: The study.
        storage: Its storage.
        folder: Folder of the study.
        overwrite: Delete a study of this name and its trial folders first.
        foreign: Names of files in the folder that are no storage; a new study is not created beside them.

    Raises:
        InputError: If the study of this name searches something else, or the folder holds something else.
    """
    with study_lock(storage, config.study):
        if overwrite:
            with suppress(KeyError):
                optuna.delete_study(storage=storage, study_name=config.study)
            shutil.rmtree(folder / "trials", ignore_errors=True)
        study = optuna.create_study(
            storage=storage,
            study_name=config.study,
            direction=config.direction,  # type: ignore[arg-type]  # validated by `load_study_config`
            pruner=MedianPruner() if config.prune else NopPruner(),
            load_if_exists=True,
        )
        stored = study.user_attrs.get(SEARCH_DEFINITION_ATTR)
        if stored is None and study.get_trials(deepcopy=False):
            raise InputError(
                f"study {config.study}: the storage holds a study of this name that radreward did not create. "
                "Change the name."
            )
        if stored is None and any((folder / "trials").glob("*")):
            raise InputError(
                f"{folder / 'trials'}: holds trials of a study that is not in the storage. "
                "Choose another --run-dir, or replace them with --overwrite."
            )
        if stored is None and foreign:
            optuna.delete_study(storage=storage, study_name=config.study)
            raise _foreign_error(config, folder, foreign)
        if stored is None:
            study.set_user_attr(SEARCH_DEFINITION_ATTR, dict(config.search_definition))
        elif changed := [key for key, value in config.search_definition.items() if stored.get(key) != value]:
            raise InputError(
                f"study {config.study}: the storage holds a study of this name with another {' and '.join(changed)}. "
                "Change the name, or replace the study with --overwrite."
            )
    return study


def claim_trial(study: Study, config: StudyConfig) -> ClaimedTrial | None:
    """Return an abandoned trial or else a new one, owned by this worker; None if the study needs no other trial."""
    # Values are suggested within the lock, so that the next worker takes them into account.
    with study_lock(study._storage, study.study_name):
        if abandoned := abandoned_trial(study):
            study.sampler = create_sampler(config, abandoned.number)
            trial = Trial(study, abandoned._trial_id)  # Optuna has no public function to resume a running trial
        else:
            trials = study.get_trials(deepcopy=False)
            number = sum(trial.state != TrialState.WAITING for trial in trials)
            if number >= config.trials:
                return None
            study.sampler = create_sampler(config, number)
            if config.sampler == "grid" and number == len(trials):
                # Not `GridSampler`: it has no conditional parameters, and its order is random.
                study.enqueue_trial(config.space.grid()[number])
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Heartbeat of storage")  # `_run_claimed` sends the heartbeat
                trial = study.ask()
        take_ownership(trial)
        return ClaimedTrial(trial, config.space.suggest(trial), reclaimed=abandoned is not None)


def _run_claimed(study: Study, config: StudyConfig, runner: TrialRunner, claimed: ClaimedTrial, folder: Path) -> None:
    trial, values, reclaimed = claimed
    folder = folder / "trials" / str(trial.number)
    trial.set_user_attr(FOLDER_ATTR, str(folder.absolute()))
    text = ", ".join(f"{name} {_format_value(value)}" for name, value in list(values.items())[:MAX_SHOWN_PARAMETERS])
    text += f" and {len(values) - MAX_SHOWN_PARAMETERS} more" if len(values) > MAX_SHOWN_PARAMETERS else ""
    resumed = " (resumed)" if reclaimed else ""
    print_status(f"trial {trial.number} of {config.trials}{resumed}: {text}")
    start = time.monotonic()
    with get_heartbeat_thread(trial._trial_id, study._storage):
        try:
            result = run_trial(config, runner, trial, values, folder)
        except StudyError as error:
            _finish_trial(study, trial, TrialResult(TrialState.FAIL, None, str(error)))
            raise
    _finish_trial(study, trial, result)
    outcome = f"{config.metric} {result.value:.4f}" if result.value is not None else "failed"
    outcome += f": {result.reason}" if result.reason else ""
    seconds = time.monotonic() - start
    print_status(f"trial {trial.number}: {outcome}, {seconds:.1f} s; {_progress_summary(study, config)}")


def _finish_trial(study: Study, trial: Trial, result: TrialResult) -> None:
    """Store the result, unless another worker took the trial over."""
    if not is_own_trial(study.get_trials(deepcopy=False)[trial.number]):
        print_status(f"trial {trial.number}: another worker took it over after missing heartbeats; its result counts")
        return
    if result.reason:
        trial.set_user_attr("reason", result.reason)
    # Optuna takes the last report as the value of a pruned trial.
    value = result.value if result.state == TrialState.COMPLETE else None
    study.tell(trial, value, result.state)


def _progress_summary(study: Study, config: StudyConfig) -> str:
    finished = [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]
    remaining = config.trials - len(finished)
    seconds = [trial.duration.total_seconds() for trial in finished if trial.duration]
    minutes = remaining * sum(seconds) / max(1, len(seconds)) / 60
    best = "no complete trial yet"
    if any(trial.state == TrialState.COMPLETE for trial in finished):
        best = f"best {study.best_value:.4f} (trial {study.best_trial.number})"
    return f"{best}; {remaining} left, about {minutes:.0f} min for one worker"


def _format_value(value: ParameterValue) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
