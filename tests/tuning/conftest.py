"""Fixtures: study files without a model, and a small `fit` configuration for real trials."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from radreward.tuning import StudyConfig, load_study_config
from tests import tiny_run
from tests.tuning.finished_runs import make_run

__all__ = ["make_run"]


@pytest.fixture
def study_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a study file over x in [0, 10]; keywords are keys of the file."""

    def write(**entries: Any) -> Path:
        (tmp_path / "base.yaml").write_text("run: here\n")
        defaults = {"study": "toy", "base": str(tmp_path / "base.yaml"), "trials": 6, "prune": False}
        defaults["space"] = {"x": {"low": 0.0, "high": 10.0}}
        path = tmp_path / "study.yaml"
        path.write_text(yaml.safe_dump({**defaults, **entries}, sort_keys=False))
        return path

    return write


@pytest.fixture
def make_config(study_file: Callable[..., Path]) -> Callable[..., StudyConfig]:
    """Return a function that writes a study file and loads it."""

    def load(**entries: Any) -> StudyConfig:
        return load_study_config(study_file(**entries))

    return load


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a `fit` configuration that trains a tiny backbone within a second."""
    folder = tmp_path_factory.mktemp("base")
    config = tiny_run.settings(folder)
    del config["run_dir"]
    config["checkpoint_every"] = 2
    config["model"]["objective"] = "MarginRewardEnforcement"
    path = folder / "base.yaml"
    path.write_text(yaml.safe_dump(config))
    return path
