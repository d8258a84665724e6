"""Fake trials whose value is a function of settings and step."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import yaml
from lightning.pytorch import LightningModule

from radreward.tuning import TrialRunner

Value = Callable[[Mapping[str, Any], int], float]


class FakeTraining:
    """A run with validations at steps 10, 20 and 30; its metric is a function of settings and step."""

    def __init__(self, settings: Mapping[str, Any], value: Value, metric: str) -> None:
        self.settings, self.value, self.metric = settings, value, metric
        self.trainer: Any = SimpleNamespace(
            callbacks=[],
            world_size=1,
            sanity_checking=False,
            global_step=0,
            callback_metrics={},
            estimated_stepping_batches=30,
        )

    def fit(self, searched: Mapping[str, Any] | None = None) -> None:
        for step in (10, 20, 30):
            self.trainer.global_step = step
            self.trainer.callback_metrics = {self.metric: torch.tensor(self.value(self.settings, step))}
            for callback in self.trainer.callbacks:
                callback.on_validation_end(self.trainer, LightningModule())


def fake_runner(value: Value, metric: str = "val_tau") -> TrialRunner:
    """Return a runner of fake training runs."""

    def build(base: Path, settings: Sequence[str]) -> FakeTraining:
        parsed = {key: json.loads(text) if key == "x" else text for key, _, text in map(_split, settings)}
        return FakeTraining(parsed, value, metric)

    def dump_config(base: Path, settings: Sequence[str]) -> str:
        text: str = yaml.safe_dump({key: value for key, _, value in map(_split, settings)})
        return text

    return TrialRunner(build, dump_config)


def _split(entry: str) -> tuple[str, str, str]:
    return entry.partition("=")


def parabola(settings: Mapping[str, Any], step: int) -> float:
    """Return a value that is best at x = 3 and rises with every step."""
    return -float((settings["x"] - 3) ** 2) - 1 / step
