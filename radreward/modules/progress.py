"""How far a run is: a bar where there is a terminal, elsewhere a line now and then."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ProgressBar as Bar
from lightning.pytorch.callbacks import RichProgressBar
from rich.console import Console
from rich.progress import track

T = TypeVar("T")
_METRIC_TITLES = {"val_tau": "τ-b", "val_f1": "F1"}


class ProgressBar(RichProgressBar):
    """Lightning's bar without a last epoch where only steps are limited, and without the name of the log's folder."""

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        """What stands beside the bar."""
        return {name: value for name, value in super().get_metrics(trainer, pl_module).items() if name != "v_num"}

    def _get_train_description(self, current_epoch: int) -> str:
        return f"{f'Epoch {current_epoch}':{len(self.validation_description)}}"


def track_progress(trainer: Trainer, description: str, interval: float = 60.0) -> Callable[[Iterable[T]], Iterator[T]]:
    """Goes over what is done after training, and shows how far it is: as the trainer does it, or not at all.

    Args:
        trainer: Whose callbacks show progress, or do not.
        what: What is done.
        every: Seconds between two lines where there is no bar.
    """

    def steps(values: Iterable[T]) -> Iterator[T]:
        entries = list(values)
        if any(isinstance(callback, Bar) for callback in trainer.callbacks):  # type: ignore[attr-defined]
            yield from track(entries, description, console=Console(stderr=True))
            return
        shown = any(isinstance(callback, PlainTextProgress) for callback in trainer.callbacks)  # type: ignore[attr-defined]
        told = -math.inf
        for number, entry in enumerate(entries):
            if shown and time.monotonic() - told >= interval:
                told = time.monotonic()
                print(f"{description}: {number} of {len(entries)}", file=sys.stderr, flush=True)
            yield entry

    return steps


class PlainTextProgress(Callback):
    """Lines on the standard error: at the start, after every validation, and when the last one is a minute old.

    The loss is the mean over the steps since the line before; seconds a step are the mean since the start, validations
    included, so that what is left is known from them.

    Args:
        folder: Where the run is kept; told at the start.
        every: Seconds between two lines.
    """

    def __init__(self, folder: str | Path, interval: float = 60.0) -> None:
        self.folder, self.interval = folder, interval
        self._losses: list[float] = []
        self._start_time = self._last_report = 0.0
        self._first_step = self._total_steps = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Tell where everything is kept."""
        self._losses, self._first_step = [], trainer.global_step
        self._total_steps = int(trainer.estimated_stepping_batches)
        self._start_time = time.monotonic()
        self._report(trainer, f"training, kept in {self.folder}")

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note the loss; tell it when it is time."""
        self._losses.append(float(outputs["loss"]))
        if time.monotonic() - self._last_report >= self.interval:
            self._report(trainer, self._status(trainer))

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Tell the agreement of the validation part, and the state where steps were taken since the line before."""
        if not trainer.sanity_checking:
            state = [self._status(trainer)] if self._losses else []
            monitor = str(getattr(pl_module, "monitor", "val_tau"))
            name = _METRIC_TITLES.get(monitor, monitor.removeprefix("val_"))
            self._report(
                trainer, ", ".join([f"validation {name} {float(trainer.callback_metrics[monitor]):.3f}", *state])
            )

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Tell what happens after the last step."""
        self._report(trainer, "judging the validation part with the weights to save")

    def _status(self, trainer: Trainer) -> str:
        loss = sum(self._losses) / len(self._losses)
        self._losses = []
        pace = (time.monotonic() - self._start_time) / max(1, trainer.global_step - self._first_step)
        left = (self._total_steps - trainer.global_step) * pace / 60
        return f"loss {loss:.4g}, {pace:.3g} s a step, {left:.0f} min left"

    def _report(self, trainer: Trainer, text: str) -> None:
        self._last_report = time.monotonic()
        if trainer.is_global_zero:
            print(f"step {trainer.global_step} of {self._total_steps}: {text}", file=sys.stderr, flush=True)
