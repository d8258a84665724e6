"""Studies of RaTEScore: every variant can be built."""

from pathlib import Path

import pytest
import yaml

from radreward.cli import build
from radreward.tuning import load_study_config

ROOT = Path(__file__).resolve().parents[1]
STUDIES = {"tagging_schemes": 3, "training_data": 3, "encoders": 3}
"""Number of configurations that cover every value of every parameter."""


def test_every_study_is_tested() -> None:
    files = (ROOT / "experiments" / "ratescore").glob("*.yaml")
    studies = {path.stem for path in files if "study" in yaml.safe_load(path.read_text(encoding="utf-8"))}
    assert studies == {*STUDIES, "affinity-tpe"}  # the last one by the tests of `tune`


@pytest.mark.parametrize("name", STUDIES)
def test_every_variant_of_a_study_builds(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    config = load_study_config(Path("experiments/ratescore") / f"{name}.yaml")
    settings = []
    for values in config.space.conditional_branches():
        training = build(config.base, *config.overrides_for(values), f"--run-dir={tmp_path / 'run'}")
        settings.append(training.settings)
    assert len(settings) == STUDIES[name]
    assert all(settings.index(entry) == position for position, entry in enumerate(settings))
