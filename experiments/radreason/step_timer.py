"""Processor time of a training step, measured within one run: the time that a run takes to start varies more."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback

from radreward.io.artifacts import write_json


class StepTimer(Callback):
    """Write the mean processor time of the last `steps` steps of a run, in seconds, to the JSON file `path`.

    The measurement starts at the end of the step before them.

    Raises:
        RuntimeError: If the run ends after `steps` steps or fewer.
    """

    def __init__(self, path: str, steps: int) -> None:
        self.path = Path(path)
        self.steps = steps
        self._ends: list[float] = []

    def on_train_batch_end(self, *_: Any) -> None:
        """Note when the step ends."""
        self._ends.append(time.process_time())

    def on_train_end(self, *_: Any) -> None:
        """Write the mean."""
        if len(self._ends) <= self.steps:
            raise RuntimeError(f"Expected more than {self.steps} steps but the run has {len(self._ends)}.")
        write_json(self.path, {"seconds_per_step": (self._ends[-1] - self._ends[-1 - self.steps]) / self.steps})
