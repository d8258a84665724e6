"""One trial: a run of `fit` in a folder of its own, watched at every validation."""

from __future__ import annotations

import gc
import math
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import torch
from lightning.pytorch import LightningModule, Trainer
from optuna.exceptions import TrialPruned
from optuna.trial import Trial, TrialState
from optuna_integration import PyTorchLightningPruningCallback

from radreward.errors import InputError
from radreward.modules.run_folder import RunFolder, write_json
from radreward.tuning.search_space import ParameterValue
from radreward.tuning.study_config import StudyConfig


class StudyError(InputError):
    """What goes wrong in every trial of a study, so that no other needs to be tried."""


class TunableRun(Protocol):
    """What is tuned: it trains, with callbacks."""

    @property
    def trainer(self) -> Trainer:
        """Lightning's."""

    def fit(self) -> object:
        """Train."""


class TrialRunner(NamedTuple):
    """How settings become a training.

    Attributes:
        build: From a configuration and `key=value` to a training; raises where they do not fit.
        describe: From the same to all settings as YAML; raises where they do not fit, and builds nothing.
    """

    build: Callable[[Path, Sequence[str]], TunableRun]
    dump_config: Callable[[Path, Sequence[str]], str]


class TrialResult(NamedTuple):
    """How a trial ended: with a value, pruned at a value, or failed for a reason."""

    state: TrialState
    value: float | None
    reason: str | None


class ReportValidations(PyTorchLightningPruningCallback):
    """Reports the metric at every validation, by step; ends the trial where the pruner says so.

    (Optuna's callback counts epochs, of which a short run has one, with many validations.)

    Args:
        trial: The trial.
        metric: What is reported.
    """

    def __init__(self, trial: Trial, metric: str) -> None:
        super().__init__(trial, metric)
        self.trial = trial
        self.values: dict[int, float] = _reported_values(trial)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report.

        Raises:
            StudyError: If there is no such metric; names those that there are.
            TrialPruned: If this is not worth going on.
        """
        step = trainer.global_step
        if trainer.sanity_checking or step in self.values:  # a continued run comes by again
            return
        if self.monitor not in trainer.callback_metrics:
            known = ", ".join(sorted(trainer.callback_metrics)) or "nothing"
            raise StudyError(f"metric: {self.monitor!r} is never logged; logged are {known}.")
        self.values[step] = float(trainer.callback_metrics[self.monitor])
        if step < trainer.estimated_stepping_batches:
            at_step: Any = SimpleNamespace(current_epoch=step)  # all that Optuna's callback asks of the module
            super().on_validation_end(trainer, at_step)
        else:  # all is paid for: what was learnt may as well be saved
            self.trial.report(self.values[step], step)


def run_trial(
    config: StudyConfig, runner: TrialRunner, trial: Trial, values: Mapping[str, ParameterValue], folder: Path
) -> TrialResult:
    """Train with the settings of a trial. What another worker began in the folder is continued.

    The value is the best one over the validations, as `fit` keeps the weights of the best.

    Raises:
        StudyError: If no other trial would do better.
        KeyboardInterrupt: If it was stopped.
    """
    arguments, run, began = config.overrides_for(values), RunFolder(folder), time.monotonic()
    goes_on = run.last.is_file()
    if folder.exists() and not goes_on:
        shutil.rmtree(folder)
    try:
        outcome = _train(config, runner, trial, [*arguments, f"run={folder}"], run, goes_on)
    except StudyError as error:
        write_trial_record(
            folder, trial, values, arguments, TrialResult(TrialState.FAIL, None, str(error)), time.monotonic() - began
        )
        raise
    except Exception as error:  # whatever it is: it is recorded, and other settings may do better
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "error.txt").write_text(traceback.format_exc(), encoding="utf-8")
        text = " ".join(str(error).split())
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        outcome = TrialResult(TrialState.FAIL, None, f"{kind}{text}")
    write_trial_record(folder, trial, values, arguments, outcome, time.monotonic() - began)
    gc.collect()  # trainer and module know each other: two models would be in memory otherwise
    return outcome


def _train(
    config: StudyConfig, runner: TrialRunner, trial: Trial, arguments: Sequence[str], run: RunFolder, resume: bool
) -> TrialResult:
    training = runner.build(config.base, [*arguments, f"ckpt_path={'last' if resume else 'null'}"])
    if resume and _missed_validation(training.trainer, run.last, _reported_values(trial)):
        shutil.rmtree(run.folder)
        training = runner.build(config.base, [*arguments, "ckpt_path=null"])
    if training.trainer.world_size > 1:
        raise StudyError(
            "trainer: Expected one process for a trial. Give each worker a device, and start the command once for each."
        )
    seen = ReportValidations(trial, config.metric)
    training.trainer.callbacks.append(seen)  # type: ignore[attr-defined]  # Lightning's list, which it does not declare
    state, reason = TrialState.COMPLETE, None
    try:
        training.fit()
    except TrialPruned:
        state, reason = TrialState.PRUNED, f"worse than the median at step {max(seen.values)}"
    if not seen.values:
        raise StudyError(
            f"metric: {config.metric!r} is never logged, because there was no validation: "
            "trainer.val_check_interval and data.validation say when and on what."
        )
    finite = [value for value in seen.values.values() if math.isfinite(value)]
    if not finite:
        return TrialResult(TrialState.FAIL, None, f"{config.metric} is not finite at any validation")
    best = max if config.direction == "maximize" else min
    return TrialResult(state, best(finite), reason)


def _missed_validation(trainer: Trainer, checkpoint: Path, reported: Mapping[int, float]) -> bool:
    """Whether a validation was due when the checkpoint was written, and ended with the worker: Lightning skips it."""
    step = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)["global_step"]
    every = getattr(trainer, "val_check_interval", None)
    known = isinstance(every, int) and trainer.accumulate_grad_batches == 1
    return step not in reported and not (known and step % every)


def _reported_values(trial: Trial) -> dict[int, float]:
    found = trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values
    return dict(found)


def write_trial_record(
    folder: Path,
    trial: Trial,
    values: Mapping[str, ParameterValue],
    arguments: Sequence[str],
    result: TrialResult,
    seconds: float,
) -> None:
    """Write `trial.json` beside what the run wrote."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(
        folder / "trial.json",
        {
            "study": trial.study.study_name,
            "number": trial.number,
            "params": dict(values),
            "settings": list(arguments),
            "state": STATE_NAMES[result.state],
            "value": result.value,
            "reason": result.reason,
            "seconds": round(seconds, 3),
        },
    )


STATE_NAMES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}


def log_progress(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)
