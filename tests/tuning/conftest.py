"""Studies without a model, whose trials take no time, and a small configuration of `fit` for real ones."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from lightning.pytorch import LightningModule

from radreward.criteria import RadCliQ
from radreward.tuning import Runner, StudySettings, read_settings

Value = Callable[[Mapping[str, Any], int], float]


class PretendedTraining:
    """Three validations at steps 10, 20 and 30, whose metric is a function of settings and step."""

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

    def fit(self) -> None:
        for step in (10, 20, 30):
            self.trainer.global_step = step
            self.trainer.callback_metrics = {self.metric: torch.tensor(self.value(self.settings, step))}
            for callback in self.trainer.callbacks:
                callback.on_validation_end(self.trainer, LightningModule())


def pretend(value: Value, metric: str = "val_tau") -> Runner:
    def build(base: Path, settings: Sequence[str]) -> PretendedTraining:
        return PretendedTraining(
            dict(yaml.safe_load("{" + entry.replace("=", ": ", 1) + "}").popitem() for entry in settings), value, metric
        )

    def describe(base: Path, settings: Sequence[str]) -> str:
        return yaml.safe_dump(dict(entry.split("=", 1) for entry in settings))

    return Runner(build, describe)


@pytest.fixture
def parabola() -> Runner:
    """Best at x = 3, better with every step."""
    return pretend(lambda settings, step: -((float(settings["x"]) - 3) ** 2) - 1 / step)


@pytest.fixture
def study_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes the file of a study over x in [0, 10]; keys of the file as keywords."""

    def write(**entries: Any) -> Path:
        (tmp_path / "base.yaml").write_text("run: here\n")
        defaults = {"study": "toy", "base": str(tmp_path / "base.yaml"), "trials": 6, "prune": False}
        defaults["space"] = {"x": {"low": 0.0, "high": 10.0}}
        path = tmp_path / "study.yaml"
        path.write_text(yaml.safe_dump({**defaults, **entries}, sort_keys=False))
        return path

    return write


@pytest.fixture
def settings(study_file: Callable[..., Path]) -> Callable[..., StudySettings]:
    def read(**entries: Any) -> StudySettings:
        return read_settings(study_file(**entries))

    return read


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of `fit` that trains a tiny backbone in a second."""
    folder = tmp_path_factory.mktemp("base")
    choose, tags = random.Random(0), RadCliQ().tags
    with (folder / "groups.jsonl").open("w") as file:
        for number in range(24):
            reference = " ".join(choose.choices(["lamp", "kettle", "stair", "window", "carpet"], k=8))
            candidates = [
                {"text": reference + " broken" * count, "errors": {tag: count * (j < 2) for j, tag in enumerate(tags)}}
                for count in range(3)
            ]
            file.write(json.dumps({"id": str(number), "reference": reference, "candidates": candidates}) + "\n")
    config = {
        "criteria": "RadCliQ",
        "checkpoint_every": 2,
        "model": {
            "backbone": {"name": "tiny-bert", "lora": {"r": 4}},
            "hidden": 4,
            "objective": "MarginRewardEnforcement",
        },
        "data": {"records": str(folder / "groups.jsonl"), "validation": 0.3, "groups_per_batch": 4},
        "trainer": {
            "max_steps": 6,
            "val_check_interval": 2,
            "log_every_n_steps": 1,
            "accelerator": "cpu",
            "enable_progress_bar": False,
        },
    }
    path = folder / "base.yaml"
    path.write_text(yaml.safe_dump(config))
    return path
