"""A small configuration of `fit`, and a run of it."""

from pathlib import Path

import pytest
import yaml

from radreward.cli import main
from radreward.modules.callbacks import RewardPlots
from tests.tiny_run import settings


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(settings(tmp_path)))
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, with figures."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "config.yaml").write_text(yaml.safe_dump(settings(folder)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RewardPlots, "draws_figures", True)
        assert main(["fit", f"--config={folder / 'config.yaml'}"]) == 0
    return folder / "run"
