"""The command that saves the mean of reward models."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from experiments.er2score.average import load_artifact, main, mean_weights
from radreward.errors import InputError
from radreward.models import load_reward_model, save_reward_model


def test_main_saves_the_mean_of_the_weights_with_the_settings_of_the_first(tmp_path: Path) -> None:
    shipped = load_artifact("er2score")
    doubled = {name: 2 * value.float() for name, value in shipped.weights_to_save().items()}
    save_reward_model(replace(shipped, trained_state=doubled), tmp_path / "doubled")

    assert main(models=["er2score", str(tmp_path / "doubled")], output=tmp_path / "mean") == 0

    mean = load_reward_model(tmp_path / "mean")
    torch.testing.assert_close(
        dict(mean.weights_to_save()), {name: 1.5 * value.float() for name, value in shipped.weights_to_save().items()}
    )
    assert type(mean.template) is type(shipped.template)
    assert mean.calibration is None


def test_main_refuses_a_metric_that_is_no_reward_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(models=["er2score", "rouge-l"], output=tmp_path / "mean") == 2
    assert "rouge-l" in capsys.readouterr().err
    assert not (tmp_path / "mean").exists()


def test_models_with_other_weights_are_refused() -> None:
    with pytest.raises(InputError, match="same backbone"):
        mean_weights([{"bias": torch.zeros(2)}, {"bias": torch.zeros(3)}])
