"""Steps of the reward module."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from radreward.modules import RewardModule
from radreward.objectives import BradleyTerry, CountRegression, DynamicWeighting, PairObjective, WeightedSumObjective
from radreward.types import RewardTrainingBatch

Make = Callable[..., RewardModule]


class Undefined(PairObjective):
    """The root of a negative number."""

    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        return ((accepted - rejected).square().sum(1) + 1).neg().sqrt()


class Log:
    """Takes the place of Lightning's logging."""

    def __init__(self, module: RewardModule, monkeypatch: pytest.MonkeyPatch) -> None:
        self.values: dict[str, float] = {}
        self.for_logger: dict[str, float] = {}
        monkeypatch.setattr(module, "log", self.log)
        monkeypatch.setattr(module, "log_dict", self.log_dict)
        monkeypatch.setattr(RewardModule, "global_step", 7)
        monkeypatch.setattr(RewardModule, "logger", None)
        module._checked = True

    def log_dict(self, values: dict[str, Any], **_: Any) -> None:
        for item in values.items():
            self.log(*item)

    def log(self, name: str, value: Any, logger: bool = True, **_: Any) -> None:
        self.values[name] = float(torch.as_tensor(value).detach())
        if logger:
            self.for_logger[name] = self.values[name]


def test_terms_are_logged_by_the_names_of_the_criteria(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = module(
        WeightedSumObjective([BradleyTerry(weighting=DynamicWeighting(update_interval=1)), CountRegression()])
    )
    log = Log(made, monkeypatch)
    losses = [float(made.training_step(batch, 0).detach()) for _ in range(2)]
    assert log.values["train/loss"] == losses[-1]
    for tag in ("tone", "length"):
        assert f"train/0_BradleyTerry/individual/{tag}" in log.values
        assert f"train/0_BradleyTerry/weight/{tag}" in log.values
    parts = [log.values[f"train/{name}/loss"] for name in ("0_BradleyTerry", "1_CountRegression")]
    assert sum(parts) == pytest.approx(losses[-1])
    assert "train/truncated" not in log.values
    made.training_step(batch._replace(num_truncated=3), 0)
    made.training_step(batch._replace(num_truncated=1), 0)
    assert log.values["train/truncated"] == 4


def test_a_loss_that_is_not_finite_names_step_and_groups(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = module(Undefined())
    Log(made, monkeypatch)
    with pytest.raises(FloatingPointError, match=r"The loss is nan in step 7, groups first, second\."):
        made.training_step(batch, 0)


def test_a_reward_that_is_not_finite_is_not_validated(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = module()
    Log(made, monkeypatch)
    torch.nn.init.constant_(made.model.head.out.bias, torch.inf)
    with pytest.raises(FloatingPointError, match=r"not finite in validation, step 7, groups first, second\."):
        made.validation_step(batch, 0)


def test_validation_logs_agreement_by_criterion_and_in_total(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scipy.stats import kendalltau

    made = module().eval()
    log = Log(made, monkeypatch)
    with torch.no_grad():
        made.validation_step(batch, 0)
        rewards = made(batch.packed)
    made.on_validation_epoch_end()
    quality = batch.targets.quality
    assert log.values["val_tau"] == pytest.approx(kendalltau(rewards.sum(1), quality.sum(1)).statistic, abs=1e-6)
    for column, tag in enumerate(("tone", "length")):
        expected = kendalltau(rewards[:, column], quality[:, column]).statistic
        assert log.values[f"val/tau_{tag}"] == pytest.approx(expected, abs=1e-6)
        assert f"val/spearman_{tag}" in log.values
        assert f"val/pairs_{tag}" in log.values
    assert made.val_outputs == []


def test_agreement_that_is_undefined_is_told_and_not_logged_as_0(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = module().eval()
    log = Log(made, monkeypatch)
    for parameter in made.model.head.parameters():
        torch.nn.init.zeros_(parameter)  # all rewards are equal
    with torch.no_grad():
        made.validation_step(batch, 0)
    with caplog.at_level(logging.WARNING):
        made.on_validation_epoch_end()
    assert "Step 7: τ-b of the total is undefined" in caplog.text
    assert log.values["val_tau"] != log.values["val_tau"]  # NaN: callbacks take it for worse than any number
    assert not any("tau" in name for name in log.for_logger)
