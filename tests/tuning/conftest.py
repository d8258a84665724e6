"""Files of studies without a model, and a small configuration of `fit` for real ones."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from radreward.criteria import RadCliQ
from radreward.tuning import StudySettings, read_settings


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
