"""Files of studies without a model, and a small configuration of `fit` for real ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from radreward.tuning import StudyConfig, load_study_config
from tests import tiny_run as toys


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
def settings(study_file: Callable[..., Path]) -> Callable[..., StudyConfig]:
    def read(**entries: Any) -> StudyConfig:
        return load_study_config(study_file(**entries))

    return read


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of `fit` that trains a tiny backbone in a second."""
    folder = tmp_path_factory.mktemp("base")
    config = toys.settings(folder)
    del config["run"]
    config["checkpoint_every"] = 2
    config["model"]["objective"] = "MarginRewardEnforcement"
    path = folder / "base.yaml"
    path.write_text(yaml.safe_dump(config))
    return path
