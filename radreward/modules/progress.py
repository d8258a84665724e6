"""Progress of a run: a bar in a terminal, otherwise periodic lines of text."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import fmean
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ProgressBar as LightningProgressBar
from lightning.pytorch.callbacks import RichProgressBar

from radreward.io.terminal import print_status

_METRIC_TITLES = {"val_tau": "τ-b", "val_f1": "F1"}


class ProgressBar(RichProgressBar):
    """Lightning's bar without the log version, and without a last epoch if only steps are limited."""

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        """Return the values beside the bar."""
        return {name: value for name, value in super().get_metrics(trainer, pl_module).items() if name != "v_num"}

    def _get_train_description(self, current_epoch: int) -> str:
        return f"{f'Epoch {current_epoch}':{len(self.validation_description)}}"


def has_progress(trainer: Trainer) -> bool:
    """Return True unless the user turned the progress off."""
    callbacks: list[Callback] = trainer.callbacks  # type: ignore[attr-defined]  # set by a connector
    return any(isinstance(callback, LightningProgressBar | PlainTextProgress) for callback in callbacks)


class PlainTextProgress(Callback):
    """Lines on standard error: at the start, after every validation, and at least once per interval.

    Training loss, and reward if there is one, are means over the steps since the previous line. Seconds per step are
    the mean since the start, validations included, so that the remaining time can be estimated from them.

    Args:
        folder: Folder of the run, printed at the start.
        interval: Maximum number of seconds between two lines.
    """

    def __init__(self, folder: str | Path, interval: float = 60.0) -> None:
        self.folder, self.interval = folder, interval
        self._losses: list[float] = []
        self._rewards: list[float] = []
        self._start_time = self._last_report = 0.0
        self._first_step = self._total_steps = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report the objective and the folder of the run."""
        self._losses, self._rewards, self._first_step = [], [], trainer.global_step
        self._total_steps = int(trainer.estimated_stepping_batches)
        self._start_time = time.monotonic()
        objective = getattr(pl_module, "objective", None)
        named = "" if objective is None else f" objective: {_class_name(type(objective))},"
        self._report(trainer, f"training,{named} writing to {self.folder}")

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Record the loss and the reward, and report if the interval has passed."""
        self._losses.append(float(outputs["loss"]))
        if (reward := trainer.callback_metrics.get("train/reward")) is not None:  # of a `GRPOModule`
            self._rewards.append(float(reward))
        if time.monotonic() - self._last_report >= self.interval:
            self._report(trainer, self._status(trainer))

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report the monitored metric, and the status if steps were taken since the previous line."""
        if not trainer.sanity_checking:
            status = [self._status(trainer)] if self._losses else []
            monitor = str(getattr(pl_module, "monitor", "val_tau"))
            title = _METRIC_TITLES.get(monitor, monitor.removeprefix("val_"))
            value = float(trainer.callback_metrics[monitor])
            self._report(trainer, ", ".join([f"validation {title} {value:.3f}", *status]))

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report the work after the last step."""
        self._report(trainer, "scoring the validation split with the weights to save")

    def _status(self, trainer: Trainer) -> str:
        means = [f"training loss {fmean(self._losses):.4g}"]
        if self._rewards:
            means.append(f"mean reward {fmean(self._rewards):.4g}")
        self._losses, self._rewards = [], []
        seconds = (time.monotonic() - self._start_time) / max(1, trainer.global_step - self._first_step)
        minutes_left = (self._total_steps - trainer.global_step) * seconds / 60
        return ", ".join([*means, f"{seconds:.3g} s per step, {minutes_left:.0f} min left"])

    def _report(self, trainer: Trainer, text: str) -> None:
        self._last_report = time.monotonic()
        if trainer.is_global_zero:
            print_status(f"step {trainer.global_step} of {self._total_steps}: {text}")


def _class_name(owner: type) -> str:
    """Return the name of a class as in a configuration: with its module, unless it belongs to this package."""
    is_ours = owner.__module__.partition(".")[0] == __name__.partition(".")[0]
    return owner.__name__ if is_ours else f"{owner.__module__}.{owner.__qualname__}"
