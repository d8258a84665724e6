"""One trial: a run of `fit` in its own folder, with the metric reported to the pruner at every validation."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lightning.pytorch import Callback, LightningModule, Trainer
from optuna.exceptions import TrialPruned
from optuna.trial import Trial, TrialState

from radreward.errors import InputError
from radreward.io.artifacts import read_json_object, write_json
from radreward.io.atomic import delete_path, is_disk_error, write_text_file
from radreward.io.in_place import check_folder
from radreward.io.outputs import folder_entries
from radreward.io.scratch import SCRATCH_SUFFIX
from radreward.modules.callbacks import RewardPlots
from radreward.modules.checkpoints import load_checkpoint
from radreward.modules.run_folder import RunFolder
from radreward.tuning.search_space import ParameterValue
from radreward.tuning.study_config import StudyConfig

_TRIAL_ENTRIES = {"versions.json", "data.json", "config.yaml", "checkpoints", "trial.json", "error.txt"}
"""Names in the folder of a trial; whatever has one of them may be deleted when the trial starts again."""
_RECORD_FILE = "trial.json"
"""File with the result of a trial, which an interrupted trial lacks."""
STATE_NAMES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}


class StudyError(InputError):
    """An error that every trial of the study would raise, so that the study stops."""


class TunableRun(Protocol):
    """A training run whose trainer accepts callbacks."""

    @property
    def trainer(self) -> Trainer:
        """The Lightning trainer."""

    def fit(self, searched: Mapping[str, Any] | None = None) -> object:
        """Train; `searched` are the settings that the study searches, each with one of its values."""


class TrialRunner(NamedTuple):
    """Converts settings to a training run.

    Attributes:
        build: Builds a run from a configuration and `key=value` overrides. Raises if the overrides are invalid.
        dump_config: Returns all settings as YAML for the same arguments. Raises the same errors but builds nothing.
    """

    build: Callable[[Path, Sequence[str]], TunableRun]
    dump_config: Callable[[Path, Sequence[str]], str]


class TrialResult(NamedTuple):
    """State of a finished trial, with its value if available and the reason if it was pruned or failed."""

    state: TrialState
    value: float | None
    reason: str | None


class ReportValidations(Callback):
    """Reports the metric at every validation, by step, and stops the trial if the pruner requires it."""

    def __init__(self, trial: Trial, metric: str) -> None:
        self.trial, self.metric = trial, metric
        self.values: dict[int, float] = _reported_values(trial)

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Turn off figures, which take longer than a short trial."""
        for callback in trainer.callbacks:  # type: ignore[attr-defined]  # not declared by Lightning
            if isinstance(callback, RewardPlots):
                callback.draws_figures = False

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report the metric.

        Raises:
            StudyError: If the metric is not logged. The message lists the logged metrics.
            TrialPruned: If the pruner stops the trial.
        """
        step = trainer.global_step
        if trainer.sanity_checking or step in self.values:  # a resumed run repeats a validation
            return
        if self.metric not in trainer.callback_metrics:
            logged = ", ".join(sorted(trainer.callback_metrics)) or "nothing"
            raise StudyError(f"metric: {self.metric!r} is never logged; logged are {logged}.")
        self.values[step] = float(trainer.callback_metrics[self.metric])
        self.trial.report(self.values[step], step)
        is_last = step >= trainer.estimated_stepping_batches  # pruning would save nothing
        if not is_last and self.trial.should_prune():
            raise TrialPruned(f"worse than the median at step {step}")


def run_trial(
    config: StudyConfig,
    runner: TrialRunner,
    trial: Trial,
    index: int,
    values: Mapping[str, ParameterValue],
    folder: Path,
) -> TrialResult:
    """Train with the settings of a trial, and write `trial.json`.

    Resume the run if its folder has the checkpoint of an interrupted attempt.

    The value is the best over all validations, since `fit` keeps the weights of the best one.

    Raises:
        StudyError: If every other trial would fail with the same error.
        KeyboardInterrupt: If interrupted.
    """
    start, study_error = time.monotonic(), None
    try:
        result = _train(config, runner, trial, config.overrides_for(values), RunFolder(folder))
    except StudyError as error:
        study_error = error
        result = TrialResult(TrialState.FAIL, None, str(error))
    except Exception as error:  # recorded; other values may succeed
        if is_disk_error(error):  # other values would fail too: the study stops, and later resumes this trial
            raise
        write_text_file(folder / "error.txt", traceback.format_exc())
        result = TrialResult(TrialState.FAIL, None, _reason(error))
    record = {
        "study": trial.study.study_name,
        "number": index,
        "trials": config.trials,
        "params": dict(values),
        "settings": config.overrides_for(values),
        "state": STATE_NAMES[result.state],
        "value": result.value,
        "reason": result.reason,
        "seconds": round(time.monotonic() - start, 3),
    }
    write_json(folder / _RECORD_FILE, record)
    if study_error is not None:
        raise study_error
    return result


def check_trial_folder(folder: Path) -> None:
    """Check that the folder of a trial may be written and its content deleted: it is new, empty or holds a run.

    Raises:
        InputError: If it, or the folder of all trials, is a link or a file, or if it holds something else.
    """
    check_folder(folder.parent)
    check_folder(folder)
    names = {entry.name for entry in folder_entries(folder)} if folder.is_dir() else set()
    names = {name for name in names if not name.endswith(SCRATCH_SUFFIX)}  # of a killed worker
    if names and not names & _TRIAL_ENTRIES:
        raise InputError(f"{folder}: Expected a folder that is new, empty or holds a trial. Rename it.")


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"


def _train(
    config: StudyConfig, runner: TrialRunner, trial: Trial, overrides: Sequence[str], run: RunFolder
) -> TrialResult:
    training = _build_run(config, runner, trial, overrides, run)
    if training.trainer.world_size > 1:
        raise StudyError(
            "trainer: Expected one process per trial. Start the command once per device, each with one device."
        )
    reports = ReportValidations(trial, config.metric)
    # Lightning does not declare this list.
    training.trainer.callbacks.append(reports)  # type: ignore[attr-defined]
    state, reason = TrialState.COMPLETE, None
    try:
        training.fit(config.space.searched_settings())
    except TrialPruned as pruned:
        state, reason = TrialState.PRUNED, str(pruned)
    if not reports.values:
        raise StudyError(
            f"metric: {config.metric!r} is never logged, because there was no validation: "
            "set trainer.val_check_interval and data.val_split."
        )
    finite = [value for value in reports.values.values() if math.isfinite(value)]
    if not finite:
        return TrialResult(TrialState.FAIL, None, f"{config.metric} is not finite at any validation")
    best = max if config.direction == "maximize" else min
    return TrialResult(state, best(finite), reason)


def _build_run(
    config: StudyConfig, runner: TrialRunner, trial: Trial, overrides: Sequence[str], run: RunFolder
) -> TunableRun:
    """Build the run of a trial, which resumes from the last checkpoint in the folder if it can.

    A trial that failed starts from the beginning: its checkpoint may be part of the failure.
    """
    overrides = [*overrides, f"run_dir={run.folder}"]
    if run.last.is_file() and not _has_failed(run.folder):
        training = runner.build(config.base, [*overrides, "ckpt_path=last"])
        if not _missed_validation(training.trainer, run.last, _reported_values(trial)):
            return training
    for entry in folder_entries(run.folder):
        delete_path(entry)
    return runner.build(config.base, [*overrides, "ckpt_path=null"])


def _has_failed(folder: Path) -> bool:
    record = folder / _RECORD_FILE
    return record.is_file() and read_json_object(record).get("state") == STATE_NAMES[TrialState.FAIL]


def _missed_validation(trainer: Trainer, checkpoint: Path, reported: Mapping[int, float]) -> bool:
    """Return True if the worker died after the checkpoint, before the validation of its step, which Lightning skips."""
    step = load_checkpoint(checkpoint)["global_step"]
    interval = getattr(trainer, "val_check_interval", None)
    not_due = isinstance(interval, int) and trainer.accumulate_grad_batches == 1 and step % interval
    return step not in reported and not not_due


def _reported_values(trial: Trial) -> dict[int, float]:
    return dict(trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values)
