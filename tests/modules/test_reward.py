"""RewardModule: logged values, errors, validation metrics and predictions."""

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from radreward.criteria import Criteria, RadCliQCriteria
from radreward.data.collators.base import Collator
from radreward.data.collators.reward import RewardCollator
from radreward.data.datamodule import PairedReportDataModule
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.models.precision import round_to_float16
from radreward.modules import RewardModule
from radreward.modules.callbacks import RewardPlots
from radreward.modules.reward import require_reward_collator
from radreward.objectives import BradleyTerry, CountRegression, DynamicWeighting, PairObjective, WeightedSumObjective
from radreward.objectives.functional.regression import findings_regression_loss
from radreward.prompts import PlainPairTemplate
from radreward.types import Candidate, LocatedErrors, ReportGroup, RewardTrainingBatch

Make = Callable[..., RewardModule]


class NaNObjective(PairObjective):
    """Loss that is the square root of a negative number."""

    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        return ((accepted - rejected).square().sum(1) + 1).neg().sqrt()


class OtherCollator(Collator):
    def collate(self, groups: Any) -> Any:
        return groups


class UserTemplate(PlainPairTemplate):
    """A user-defined template."""


class Log:
    """Replacement of Lightning's logging of a module."""

    def __init__(self, module: RewardModule, monkeypatch: pytest.MonkeyPatch) -> None:
        self.values: dict[str, float] = {}
        self.for_logger: dict[str, float] = {}
        monkeypatch.setattr(module, "log", self.log)
        monkeypatch.setattr(module, "log_dict", self.log_dict)
        monkeypatch.setattr(RewardModule, "global_step", 7)
        monkeypatch.setattr(RewardModule, "logger", None)
        module._packing_checked = True

    def log_dict(self, values: dict[str, Any], **_: Any) -> None:
        for item in values.items():
            self.log(*item)

    def log(self, name: str, value: Any, logger: bool = True, **_: Any) -> None:
        self.values[name] = float(torch.as_tensor(value).detach())
        if logger:
            self.for_logger[name] = self.values[name]


def test_training_step_logs_terms_by_criterion(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module = module(
        WeightedSumObjective([BradleyTerry(weighting=DynamicWeighting(update_interval=1)), CountRegression()])
    )
    log = Log(reward_module, monkeypatch)
    losses = [float(reward_module.training_step(batch, 0).detach()) for _ in range(2)]
    assert log.values["train/loss"] == losses[-1]
    for tag in ("tone", "length"):
        assert f"train/0_BradleyTerry/individual/{tag}" in log.values
        assert f"train/0_BradleyTerry/weight/{tag}" in log.values
    parts = [log.values[f"train/{name}/loss"] for name in ("0_BradleyTerry", "1_CountRegression")]
    assert sum(parts) == pytest.approx(losses[-1])
    assert "train/truncated" not in log.values
    reward_module.training_step(batch._replace(num_truncated=3), 0)
    reward_module.training_step(batch._replace(num_truncated=1), 0)
    assert log.values["train/truncated"] == 4


def test_training_step_loss_not_finite_raises_with_step_and_groups(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module = module(NaNObjective())
    Log(reward_module, monkeypatch)
    with pytest.raises(FloatingPointError, match=r"The loss is nan in step 7, groups first, second\."):
        reward_module.training_step(batch, 0)


def test_validation_step_reward_not_finite_raises(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module = module()
    Log(reward_module, monkeypatch)
    torch.nn.init.constant_(reward_module.model.head.out.bias, torch.inf)
    with pytest.raises(FloatingPointError, match=r"not finite in validation, step 7, groups first, second\."):
        reward_module.validation_step(batch, 0)


def test_validation_logs_agreement_by_criterion_and_in_total(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scipy.stats import kendalltau

    reward_module = module().eval()
    log = Log(reward_module, monkeypatch)
    with torch.no_grad():
        returned = reward_module.validation_step(batch, 0)
        rewards = reward_module(batch.packed).rewards
    reward_module.on_validation_epoch_end()
    assert torch.equal(returned, rewards), "callbacks plot them"
    quality = batch.targets.quality
    assert log.values["val_tau"] == pytest.approx(kendalltau(rewards.sum(1), quality.sum(1)).statistic, abs=1e-6)
    for column, tag in enumerate(("tone", "length")):
        expected = kendalltau(rewards[:, column], quality[:, column]).statistic
        assert log.values[f"val/tau_{tag}"] == pytest.approx(expected, abs=1e-6)
        assert f"val/spearman_{tag}" in log.values
        assert f"val/pairs_{tag}" in log.values


def test_validation_undefined_agreement_is_warned_about_and_not_logged(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reward_module = module().eval()
    log = Log(reward_module, monkeypatch)
    for parameter in reward_module.model.head.parameters():
        torch.nn.init.zeros_(parameter)  # all rewards are equal
    with torch.no_grad():
        reward_module.validation_step(batch, 0)
    with caplog.at_level(logging.WARNING):
        reward_module.on_validation_epoch_end()
    assert "Step 7: τ-b of the total is undefined" in caplog.text
    assert log.values["val_tau"] != log.values["val_tau"]  # NaN: callbacks treat it as worse than any number
    assert not any("tau" in name for name in log.for_logger)


def test_predict_validation_numbers_groups_over_batches(module: Make, batch: RewardTrainingBatch) -> None:
    reward_module = module().eval()
    data: Any = SimpleNamespace(val_dataloader=lambda: [batch, batch])

    class FakeTrainer:
        def predict(self, predicted: RewardModule, batches: list[RewardTrainingBatch]) -> list[Any]:
            with torch.no_grad():
                return [predicted.predict_step(entry, 0) for entry in batches]

    trainer: Any = FakeTrainer()
    candidates, group_ids = reward_module.predict_validation(trainer, data)
    assert group_ids == batch.ids * 2
    assert candidates.group.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert torch.equal(candidates.rewards[:5], candidates.rewards[5:])
    assert candidates.errors[:5].tolist() == [[0, 0], [1, 2], [0, 1], [0, 0], [1, 2]]


@pytest.fixture
def known_findings(batch: RewardTrainingBatch) -> RewardTrainingBatch:
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0], [torch.nan, torch.nan]])
    return batch._replace(targets=batch.targets._replace(findings=weights))


def test_training_learns_weights_of_findings(module: Make, known_findings: RewardTrainingBatch) -> None:
    reward_module = module()
    optimizer = torch.optim.AdamW(reward_module.parameters(), lr=0.02)
    for _ in range(60):
        predicted = reward_module(known_findings.packed).findings
        loss = findings_regression_loss(predicted, known_findings.targets.findings)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    predicted, target = reward_module(known_findings.packed).findings[:4], known_findings.targets.findings[:4]
    torch.testing.assert_close(predicted, target, rtol=0, atol=0.1)


def test_training_step_adds_weighted_loss_of_findings(
    module: Make, known_findings: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module = module()
    log = Log(reward_module, monkeypatch)
    losses = []
    for weight in (1.0, 3.0):
        reward_module.findings_weight = weight
        losses.append(reward_module.training_step(known_findings, 0).item())
    terms = log.values["train/findings"] + log.values["train/quality_order"]
    assert losses[1] - losses[0] == pytest.approx(2 * terms, rel=1e-5)


@pytest.mark.parametrize("known", [True, False])
def test_measure_reports_quality_if_weights_of_findings_are_known(
    module: Make, known_findings: RewardTrainingBatch, batch: RewardTrainingBatch, known: bool
) -> None:
    reward_module = module()
    with torch.no_grad():
        prediction = reward_module.predict_step(known_findings if known else batch, 0)
    trainer: Any = SimpleNamespace(predict=lambda *_: [prediction, prediction])
    data: Any = SimpleNamespace(val_dataloader=lambda: None)
    table = reward_module.measure(trainer, data)
    assert ("quality" in table) == known
    if known:
        assert table["quality"]["count_mae"] is not None
        assert table["quality"].keys() == table["total"].keys()


@pytest.mark.parametrize("name", ["findings_weight", "passage_weight"])
def test_negative_weight_of_a_loss_raises(name: str) -> None:
    settings: Any = {name: -1.0}
    with pytest.raises(ValueError, match=f"Expected `{name}`"):
        RewardModule(RadCliQCriteria(), **settings)


def test_require_reward_collator_rejects_data_that_cannot_be_exported(module: Make) -> None:
    criteria = module().criteria
    good = PairedReportDataModule("groups.jsonl", criteria, RewardCollator(criteria, "tiny-llama"))
    assert require_reward_collator(good) is good.collator
    other: Any = SimpleNamespace()
    with pytest.raises(InputError, match="PairedReportDataModule for a reward model but got SimpleNamespace"):
        require_reward_collator(other)
    for collator, message in (
        (OtherCollator(), "RewardCollator for a reward model but got OtherCollator"),
        (RewardCollator(criteria, "tiny-llama", UserTemplate()), "PlainPairTemplate.* but got UserTemplate"),
    ):
        with pytest.raises(InputError, match=message):
            require_reward_collator(PairedReportDataModule("groups.jsonl", criteria, collator))


def test_round_to_float16_rounds_only_trainable_parameters(module: Make) -> None:
    reward_module = module()
    before = {name: value.detach().clone() for name, value in reward_module.model.named_parameters()}
    round_to_float16(reward_module.model)
    for name, value in reward_module.model.named_parameters():
        assert torch.equal(value, before[name].half().float() if value.requires_grad else before[name])
    assert any(not torch.equal(value, before[name]) for name, value in reward_module.model.named_parameters())


def test_reward_plots_state_restores_tau_history() -> None:
    first, second = RewardPlots(), RewardPlots()
    first.tau_history = {"total": [(2, 0.5)]}
    second.load_state_dict(first.state_dict())
    assert second.tau_history == {"total": [(2, 0.5)]}


def test_training_on_located_errors_finds_the_statement_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    criteria = Criteria("one", [{"name": "false finding", "description": "Any."}])
    reference, right = "Mild edema. Scoliosis.", "Scoliosis. Mild edema."
    located = LocatedErrors("candidate", ("Small mass.",), {"false_finding": 1.0}, 1.0)
    candidates = (
        Candidate(f"{right} Small mass.", {"false_finding": 1.0}, located_errors=(located,)),
        Candidate(right, {"false_finding": 0.0}, located_errors=()),
    )
    module = RewardModule(criteria, Backbone("tiny-bert"), CountRegression(), "evidence")
    batch = RewardCollator(criteria, "tiny-bert").collate([ReportGroup("a", reference, candidates)])
    log = Log(module, monkeypatch)
    losses = []
    for weight in (0.0, 1.0, 3.0):
        module.passage_weight = weight
        losses.append(module.training_step(batch, 0).item())
    assert losses[2] - losses[1] == pytest.approx(2 * log.values["train/passages"], rel=1e-4)
    assert losses[1] - losses[0] == pytest.approx(log.values["train/passages"], rel=1e-4)
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        module.training_step(batch, 0).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        evidence = module.model.locate(batch.packed)[1][0].row(0).values[:, 0]
    last_statement = len(f"{right} ")  # a token per character
    assert evidence[last_statement:-1].sum() == pytest.approx(1.0, abs=0.2)
    assert evidence[:last_statement].sum() < 0.2
