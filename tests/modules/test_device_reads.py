"""A step reads no value of a tensor on the device before its backward pass; tensors of the device meta have none."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from lightning.fabric.utilities.apply_func import move_data_to_device

from radreward.criteria import RadCliQCriteria
from radreward.data.collators.reward import RewardCollator
from radreward.data.collators.sft import SFTCollator
from radreward.models import Backbone
from radreward.modules import RewardModule, SFTModule
from radreward.objectives import BradleyTerry, LocatedErrors, MarginRewardEnforcement, Objective
from radreward.prompts import StatementPairTemplate
from radreward.synthesis import synthesize
from radreward.systems.radreason import RadReasonTemplate

META = torch.device("meta")
CRITERIA = RadCliQCriteria()
GROUPS = list(synthesize(CRITERIA, 2, 3, seed=4, granularity="plain"))
LENGTH = 4000


@pytest.fixture(autouse=True)
def no_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out autocast, which does not know the device meta."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())


def without_logging(module: Any) -> Any:
    """Return a module after its first batch, for which it compares packed and separate sequences."""
    module.log = module.log_dict = lambda *_, **__: None
    module._packing_checked = True
    return module


@pytest.mark.parametrize(
    ("backbone", "architecture", "objective"),
    [
        ("tiny-llama", "pooled", MarginRewardEnforcement()),
        ("tiny-llama", "pooled", BradleyTerry()),
        ("tiny-bert", "pooled", MarginRewardEnforcement()),
        ("tiny-bert", "evidence", BradleyTerry()),
        ("tiny-bert", "evidence", LocatedErrors()),
    ],
    ids=["last", "last, Bradley-Terry", "matching", "evidence", "located errors"],
)
def test_reward_step_reads_no_device_value(backbone: str, architecture: Any, objective: Objective) -> None:
    module = RewardModule(CRITERIA, Backbone(backbone), objective, architecture).to(META)
    collator = RewardCollator(
        CRITERIA, backbone, StatementPairTemplate() if architecture == "evidence" else None, max_length=LENGTH
    )
    batch = move_data_to_device(collator.collate(GROUPS), META)
    assert batch.packed.input_ids.device == META
    assert isinstance(batch.packed.node_lengths, tuple)
    torch.autograd.backward(without_logging(module).training_step(batch, 0))
    assert all(parameter.grad is not None for parameter in module.parameters() if parameter.requires_grad)


def test_evidence_of_finding_weights_reads_no_device_value() -> None:
    module = RewardModule(CRITERIA, Backbone("tiny-bert"), BradleyTerry(), "evidence").to(META)
    module.model.evidence.predicts_findings = True
    batch = move_data_to_device(
        RewardCollator(CRITERIA, "tiny-bert", StatementPairTemplate(), max_length=LENGTH).collate(GROUPS), META
    )
    assert module(batch.packed).evidence.reference.values.device == META


def test_sft_step_reads_no_device_value() -> None:
    module = SFTModule(Backbone("tiny-llama")).to(META)
    batch = move_data_to_device(
        SFTCollator(CRITERIA, RadReasonTemplate(False), "tiny-llama", max_length=LENGTH).collate(GROUPS), META
    )
    assert batch.num_tokens > 0
    torch.autograd.backward(without_logging(module).training_step(batch, 0))


def test_reading_a_device_value_fails_on_meta() -> None:
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.zeros(2, device=META).nonzero()
    with pytest.raises(RuntimeError, match="meta"):
        torch.zeros((), device=META).item()
