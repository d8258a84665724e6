"""Studies: workers run trials of a shared storage until the study has its number of trials."""

from __future__ import annotations

import gc
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import optuna
from optuna.exceptions import StorageInternalError
from optuna.pruners import MedianPruner, NopPruner
from optuna.storages import BaseStorage
from optuna.study import Study

from radreward.errors import InputError
from radreward.io.in_place import check_folder
from radreward.io.outputs import folder_entries
from radreward.io.terminal import print_status
from radreward.tuning.retries import queue_failed_trials
from radreward.tuning.samplers import SamplerPerTrial
from radreward.tuning.storage import open_storage, redact_password
from radreward.tuning.study_config import StudyConfig
from radreward.tuning.trial import TrialRunner
from radreward.tuning.worker import StudyWorker, starting_lock

_SEARCH_DEFINITION_ATTR = "search_definition"
"""User attribute of a study: its search definition."""
_OWN_ENTRIES = re.compile(r"\..*|study\.db.*|.*\.journal.*|trials")
"""Names in the folder of a study that another worker may have created."""


def run_study(
    config: StudyConfig,
    runner: TrialRunner,
    folder: Path | None = None,
    storage: str | None = None,
    overwrite: bool = False,
) -> Study:
    """Run trials, together with any other worker of the study, until the study is complete.

    Called again, it resumes the study: trials of killed workers are resumed from their checkpoints, and failed trials
    are tried once more.

    Args:
        config: The study.
        runner: Builds the training run of a trial.
        folder: Folder of the study; defaults to `runs/<study>`.
        storage: URL of the storage, see `open_storage`.
        overwrite: Delete a study of this name and its trial folders first.

    Raises:
        InputError: If settings are invalid, or the storage cannot be used or holds another study of this name.
        KeyboardInterrupt: If interrupted.
    """
    folder = folder or Path("runs") / config.study
    location = redact_password(storage) if storage else str(folder / "study.db")
    # Trials were started with settings that had been accepted, and `_open_study` rejects others.
    is_resumed = (folder / "trials").is_dir() and not overwrite
    validate_search_space(config, runner, base_only=is_resumed)
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # `print_status` prints the same
    with starting_lock(folder):
        if not (overwrite or storage or (folder / "study.db").exists()):
            _check_unused(config, folder)  # before the storage creates a file there
        study = _open_study(config, open_storage(storage, folder), folder, overwrite)
        num_queued = queue_failed_trials(study)
    print_status(f"study {config.study}: {config.trials} trials in {folder}; storage {location}")
    if num_queued:
        print_status(f"study {config.study}: {num_queued} failed trial{'s' * (num_queued > 1)} will be tried again")
    worker = StudyWorker(study, config, runner, folder)
    gc.freeze()  # the garbage collection after each trial then skips imported modules
    try:
        while worker.run_next_trial():
            pass
    except StorageInternalError as error:
        raise InputError(
            f"storage {location}: no longer responds ({error}); run the same command again to resume."
        ) from error
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt("Run the same command again to resume the study.") from error
    finally:
        gc.unfreeze()
    return study


def validate_search_space(config: StudyConfig, runner: TrialRunner, base_only: bool = False) -> None:
    """Check the base config and, unless `base_only`, that it accepts every branch of the search space.

    Raises:
        InputError: If it does not. The message names the setting and the overrides.
    """
    try:
        runner.dump_config(config.base, [])
    except InputError as error:
        raise InputError(f"{config.base}: {error}") from error
    for values in [] if base_only else config.space.conditional_branches():
        overrides = config.overrides_for(values)
        try:
            runner.dump_config(config.base, overrides)
        except InputError as error:
            raise InputError(f"study {config.study}: {config.base} with {' '.join(overrides)}: {error}") from error


def _open_study(config: StudyConfig, storage: BaseStorage, folder: Path, overwrite: bool) -> Study:
    """Load the study from the storage, or create it.

    Raises:
        InputError: If the study of this name has another search space, or the folder has other content.
    """
    if overwrite:
        check_folder(folder / "trials")
        with suppress(KeyError):
            optuna.delete_study(storage=storage, study_name=config.study)
        with suppress(FileNotFoundError):
            shutil.rmtree(folder / "trials")
    elif config.study not in optuna.get_all_study_names(storage):
        _check_unused(config, folder)
    study = optuna.create_study(
        storage=storage,
        study_name=config.study,
        direction=config.direction,  # type: ignore[arg-type]  # validated by `load_study_config`
        sampler=SamplerPerTrial(config),
        pruner=MedianPruner() if config.prune else NopPruner(),
        load_if_exists=True,
    )
    if _SEARCH_DEFINITION_ATTR in study.user_attrs:
        _check_same_search(config, study.user_attrs[_SEARCH_DEFINITION_ATTR])
    elif study.get_trials(deepcopy=False):
        raise InputError(
            f"study {config.study}: the storage holds a study of this name that radreward did not create. "
            "Change the name."
        )
    else:
        study.set_user_attr(_SEARCH_DEFINITION_ATTR, dict(config.search_definition))
    return study


def _check_unused(config: StudyConfig, folder: Path) -> None:
    """Check that a folder holds neither other files nor trials."""
    foreign = [path.name for path in folder_entries(folder) if not _OWN_ENTRIES.fullmatch(path.name)]
    if foreign:
        raise InputError(
            f"{folder}: Expected a folder that is new, empty or holds the study {config.study} but it holds "
            f"{foreign[0]}. Choose another --run-dir."
        )
    if any((folder / "trials").glob("*")):
        raise InputError(
            f"{folder / 'trials'}: holds trials of a study that is not in the storage. "
            "Choose another --run-dir, or replace them with --overwrite."
        )


def _check_same_search(config: StudyConfig, stored: Mapping[str, object]) -> None:
    changed = [key for key, value in config.search_definition.items() if stored.get(key) != value]
    if changed:
        raise InputError(
            f"study {config.study}: the storage holds a study of this name that differs in {' and '.join(changed)}. "
            "Change the name, or replace the study with --overwrite."
        )
