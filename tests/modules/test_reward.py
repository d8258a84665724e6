"""RewardModule: logged values, errors, validation metrics and predictions."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.data.collators.reward import RewardCollator
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.models.precision import round_to_float16
from radreward.modules import RewardModule
from radreward.objectives import (
    BradleyTerry,
    CountRegression,
    DynamicWeighting,
    FindingRegression,
    LocatedErrors,
    MarginRewardEnforcement,
    Objective,
    PairObjective,
    QualityOrder,
    SumObjective,
)
from radreward.types import (
    Candidate,
    LocatedError,
    ObjectiveOutput,
    ReportGroup,
    RewardBatch,
    RewardTrainingBatch,
    Side,
)

Make = Callable[..., RewardModule]


class NaNObjective(PairObjective):
    """Loss that is the square root of a negative number."""

    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        return ((accepted - rejected).square().sum(1) + 1).neg().sqrt()


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
        SumObjective([BradleyTerry(weighting=DynamicWeighting(update_interval=1)), CountRegression()])
    )
    log = Log(reward_module, monkeypatch)
    losses = [float(reward_module.training_step(batch, 0).detach()) for _ in range(2)]
    assert log.values["train/loss"] == losses[-1]
    for tag in ("tone", "length"):
        assert f"train/BradleyTerry/individual/{tag}" in log.values
        assert f"train/BradleyTerry/weight/{tag}" in log.values
    parts = [log.values[f"train/{name}/loss"] for name in ("BradleyTerry", "CountRegression")]
    assert sum(parts) == pytest.approx(losses[-1])
    assert "train/truncated" not in log.values
    for count in (3, 1):
        reward_module.on_train_batch_start(batch._replace(num_truncated=count), 0)
    assert log.values["train/truncated"] == 4
    checkpoint = {"state_dict": reward_module.state_dict()}
    reward_module.on_save_checkpoint(checkpoint)
    reward_module.num_truncated = 0
    reward_module.on_load_checkpoint(checkpoint)
    assert reward_module.num_truncated == 4  # a resumed run continues counting


def test_training_step_loss_not_finite_raises_with_step_and_groups(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module = module(NaNObjective())
    Log(reward_module, monkeypatch)
    reward_module.training_step(batch, 0)
    message = r"^NaNObjective: The loss is nan in step 7, groups first, second\. Lower model\.optimizer\.lr; in a loss"
    with pytest.raises(FloatingPointError, match=message):
        reward_module.on_after_backward()


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
    targets = batch.targets.rewards
    assert log.values["val_tau"] == pytest.approx(kendalltau(rewards.sum(1), targets.sum(1)).statistic, abs=1e-6)
    for column, tag in enumerate(("tone", "length")):
        expected = kendalltau(rewards[:, column], targets[:, column]).statistic
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


def test_training_learns_weights_of_findings(
    module: Make, known_findings: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module = module(FindingRegression())
    Log(reward_module, monkeypatch)
    optimizer = torch.optim.AdamW(reward_module.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        reward_module.training_step(known_findings, 0).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    predicted = reward_module(known_findings.packed).finding_weights[:4]
    torch.testing.assert_close(predicted, known_findings.targets.finding_weights[:4], rtol=0, atol=0.1)


class UserPairLoss(PairObjective):
    """A user-defined loss that records its values."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: list[Tensor] = []

    def pair_loss(self, accepted: Tensor, rejected: Tensor, margin: Tensor) -> Tensor:
        losses = self.weighting((accepted - rejected - margin) ** 2)
        self.losses.append(losses.detach())
        return losses


def test_user_loss_trains_alone(
    module: Make, known_findings: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = UserPairLoss()
    reward_module = module(objective)
    log = Log(reward_module, monkeypatch)
    loss = reward_module.training_step(known_findings, 0)
    assert log.values == {"train/loss": loss.item()}
    assert loss.item() == objective.losses[0].mean().item()
    assert not any("finding" in name for name, _ in reward_module.named_parameters())
    assert reward_module(known_findings.packed).finding_weights is None


class UserFindingLoss(Objective):
    """A user-defined loss on the weights of findings."""

    needs = frozenset({"finding_weights"})

    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        assert batch.finding_weights is not None
        known = batch.finding_weights.target.isfinite().all(1)
        losses = (batch.finding_weights.predicted - batch.finding_weights.target)[known].abs().sum(1)
        return ObjectiveOutput(self.reduce(losses), {"known": known.sum()})


def test_user_objective_gets_the_findings_that_it_needs(
    module: Make, known_findings: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module = module(UserFindingLoss())
    log = Log(reward_module, monkeypatch)
    loss = reward_module.training_step(known_findings, 0).item()
    predicted = reward_module(known_findings.packed).finding_weights
    expected = (predicted - known_findings.targets.finding_weights)[:4].abs().sum(1).mean()
    assert loss == pytest.approx(expected.item())
    assert log.values == {"train/loss": loss, "train/known": 4}


def test_pooled_model_with_default_objective_minimizes_equation_1(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module, same_seed = module().train(False), module().train(False)
    assert type(reward_module.objective) is MarginRewardEnforcement
    targets = batch.targets
    expected = RewardBatch(same_seed(batch.packed).rewards, targets.rewards, targets.group, targets.pairs)
    loss, logs = MarginRewardEnforcement()(expected)
    log = Log(reward_module, monkeypatch)
    assert reward_module.training_step(batch, 0).item() == pytest.approx(loss.item())
    assert log.values.pop("train/loss") == pytest.approx(loss.item())
    assert list(log.values.values()) == pytest.approx([value.item() for value in logs.values()])


class ConstantLoss(Objective):
    def forward(self, batch: RewardBatch) -> ObjectiveOutput:
        return ObjectiveOutput(torch.zeros(()), {})


def test_loss_that_does_not_depend_on_the_outputs_raises(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module = module(ConstantLoss())
    Log(reward_module, monkeypatch)
    with pytest.raises(InputError, match="ConstantLoss: Expected a loss that depends on the model .* without `detach`"):
        reward_module.training_step(batch, 0)


def test_batch_without_pairs_trains_with_a_loss_of_0(
    module: Make, batch: RewardTrainingBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_module = module(SumObjective([MarginRewardEnforcement(), FindingRegression(), QualityOrder()]))
    Log(reward_module, monkeypatch)
    targets = batch.targets._replace(pairs=batch.targets.pairs[:0])
    loss = reward_module.training_step(batch._replace(targets=targets), 0)
    assert loss.item() == 0
    loss.backward()  # type: ignore[no-untyped-call]
    trained = {name: p.grad for name, p in reward_module.named_parameters() if p.requires_grad}
    assert all(gradient is not None and not gradient.any() for gradient in trained.values()), "DDP waits for all"


def test_round_to_float16_rounds_only_trainable_parameters(module: Make) -> None:
    reward_module = module()
    before = {name: value.detach().clone() for name, value in reward_module.model.named_parameters()}
    round_to_float16(reward_module.model)
    for name, value in reward_module.model.named_parameters():
        assert torch.equal(value, before[name].half().float() if value.requires_grad else before[name])
    assert any(not torch.equal(value, before[name]) for name, value in reward_module.model.named_parameters())


def test_training_on_located_errors_finds_the_statement_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    criteria = Criteria("one", [{"name": "false finding", "description": "Any."}])
    reference, right = "Mild edema. Scoliosis.", "Scoliosis. Mild edema."
    located = LocatedError(Side.CANDIDATE, ("Small mass.",), {"false_finding": 1.0}, 1.0)
    candidates = (
        Candidate(f"{right} Small mass.", {"false_finding": 1.0}, located_errors=(located,)),
        Candidate(right, {"false_finding": 0.0}, located_errors=()),
    )
    objective = SumObjective([CountRegression(), LocatedErrors()])
    module = RewardModule(criteria, Backbone("tiny-bert"), objective, "evidence")
    batch = RewardCollator(criteria, "tiny-bert").collate([ReportGroup("a", reference, candidates)])
    Log(module, monkeypatch)
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        module.training_step(batch, 0).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        evidence = module(batch.packed).evidence.row(0)[Side.CANDIDATE].values[:, 0]
    last_statement = len(f"{right} ")  # a token per character
    assert evidence[last_statement:-1].sum() == pytest.approx(1.0, abs=0.2)
    assert evidence[:last_statement].sum() < 0.2
