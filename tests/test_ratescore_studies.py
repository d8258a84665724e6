"""Every variant of the studies of RaTEScore's tables can be built."""

from pathlib import Path

import pytest

from radreward.cli import build
from radreward.tuning import load_study_config

ROOT = Path(__file__).resolve().parents[1]
STUDIES = {"schemes": 3, "training_data": 3, "encoders": 3}
"""And how many configurations hold every value of every parameter."""


@pytest.mark.parametrize("name", STUDIES)
def test_every_variant_builds(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    settings = load_study_config(Path("experiments/ratescore") / f"{name}.yaml")
    built = []
    for labels in settings.space.conditional_branches():
        training = build(settings.base, *settings.overrides_for(labels), f"--run={tmp_path / 'run'}")
        built.append(training.settings)
    assert len(built) == STUDIES[name]
    assert all(built.index(entry) == place for place, entry in enumerate(built))
