"""The command that calibrates a reward model saves the same weights with curves of the generated groups."""

from pathlib import Path

import pytest

from experiments.er2score.calibrate import calibration_groups, main
from radreward.criteria import RadCliQCriteria
from radreward.io.artifacts import file_fingerprint
from radreward.models import load_reward_model
from radreward.models.reward_artifact import WEIGHTS
from radreward.systems.er2score.scorer import EMBEDDED_DIR


def test_main_saves_the_model_with_other_curves(tmp_path: Path) -> None:
    assert main(output=tmp_path / "model", groups=3, graded=2, seed=5) == 0
    assert file_fingerprint(tmp_path / "model" / WEIGHTS) == file_fingerprint(EMBEDDED_DIR / WEIGHTS)
    shipped, saved = load_reward_model(EMBEDDED_DIR), load_reward_model(tmp_path / "model")
    assert saved.calibration is not None
    assert shipped.calibration is not None
    assert saved.calibration.to_dict() != shipped.calibration.to_dict()
    assert saved.finding_weights_calibration is not None
    assert saved.training_info == shipped.training_info
    assert saved.rule_share == shipped.rule_share == 0.7
    assert main(output=tmp_path / "other", groups=3, graded=2, seed=5, rule_share=0.0) == 0
    assert load_reward_model(tmp_path / "other").rule_share == 0


def test_main_refuses_a_share_over_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(output=tmp_path / "model", rule_share=1.5) == 2
    assert "--rule-share: Expected a number from 0 to 1 but got 1.5" in capsys.readouterr().err


def test_main_refuses_a_metric_that_is_no_reward_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(output=tmp_path / "model", model="rouge-l") == 2
    assert "--model" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_calibration_groups_depend_on_the_seed_only() -> None:
    first, second = (calibration_groups(RadCliQCriteria(), 2, 2, seed=3) for _ in range(2))
    assert first == second
    assert len(first) == 4
