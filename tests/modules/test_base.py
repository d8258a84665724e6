"""Checkpoints of modules: contents, restoring, and rejected files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from radreward.criteria import Criteria, RadCliQCriteria
from radreward.errors import InputError
from radreward.models import Backbone, LoRA
from radreward.modules import RewardModule
from radreward.objectives import DynamicWeighting, MarginRewardEnforcement
from radreward.types import RewardTrainingBatch

Make = Callable[..., RewardModule]


def save_checkpoint(module: RewardModule, path: Path) -> dict[str, torch.Tensor]:
    checkpoint: dict[str, Any] = {"state_dict": module.state_dict()}
    module.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, path)
    state: dict[str, torch.Tensor] = torch.load(path, weights_only=True)["state_dict"]
    return state


# bitsandbytes uses a deprecated name of torch.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("quantization", ["4bit", "8bit", None])
def test_checkpoint_holds_only_adapters_and_head(
    quantization: Literal["4bit", "8bit"] | None,
    module: Make,
    tiny_folder: Path,
    batch: RewardTrainingBatch,
    tmp_path: Path,
) -> None:
    def build(seed: int) -> RewardModule:
        built = module(seed=seed, backbone=Backbone(str(tiny_folder), LoRA(4), quantization)).eval()
        for name, parameter in built.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter)
        return built

    first, second = build(0), build(1)
    with torch.no_grad():
        rewards = first(batch.packed).rewards
        assert not torch.allclose(rewards, second(batch.packed).rewards)
    state = save_checkpoint(first, tmp_path / "a.ckpt")
    assert state
    assert all("lora_" in name or name.startswith(("model.head.", "model.finding_head.")) for name in state)
    second.load_state_dict(second.read_checkpoint(tmp_path / "a.ckpt")["state_dict"])  # strict
    with torch.no_grad():
        torch.testing.assert_close(second(batch.packed).rewards, rewards, rtol=0, atol=0)


def test_checkpoint_restores_weighting_state_that_grew(
    module: Make, batch: RewardTrainingBatch, tmp_path: Path
) -> None:
    first = module(MarginRewardEnforcement(weighting=DynamicWeighting(update_interval=1)))
    first.objective.weighting.update(torch.tensor([[True, False]]), torch.tensor([[True, True]]))
    save_checkpoint(first, tmp_path / "a.ckpt")
    second = module(MarginRewardEnforcement(weighting=DynamicWeighting(update_interval=1)))
    second.load_state_dict(second.read_checkpoint(tmp_path / "a.ckpt")["state_dict"])
    assert second.objective.weighting.weights(2).tolist() == first.objective.weighting.weights(2).tolist()
    assert second.objective.weighting.weights(2)[0] != second.objective.weighting.weights(2)[1]


def test_read_checkpoint_of_another_model_raises(module: Make, tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    save_checkpoint(module(), path)
    others = {
        "objective.weighting": module(MarginRewardEnforcement(weighting=DynamicWeighting())),
        "has the shape": module(criteria=RadCliQCriteria()),
        "is (missing|unknown)": module(backbone=Backbone("tiny-llama", LoRA(4, targets=["o_proj"]))),
    }
    for message, other in others.items():
        with pytest.raises(InputError, match=rf"a\.ckpt: comes from another model: .*{message}"):
            other.read_checkpoint(path)


def test_read_checkpoint_with_other_criteria_of_same_number_raises(module: Make, tmp_path: Path) -> None:
    first, second = module(), module()
    for reward_module, name in ((first, "tone"), (second, "voice")):
        criteria = Criteria("two", [{"name": name, "description": "x"}, {"name": "length", "description": "y"}])
        reward_module.save_hyperparameters({"criteria": criteria.to_dict()}, logger=False)
    checkpoint = {"state_dict": first.state_dict(), "hyper_parameters": dict(first.hparams)}
    first.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "a.ckpt")
    assert first.read_checkpoint(tmp_path / "a.ckpt")
    with pytest.raises(InputError, match=r"a\.ckpt: was trained with a different criteria setting"):
        second.read_checkpoint(tmp_path / "a.ckpt")


def test_read_checkpoint_without_weights_raises_with_its_name(module: Make, tmp_path: Path) -> None:
    torch.save({"weights": 1}, tmp_path / "a.ckpt")
    with pytest.raises(InputError, match=r"a\.ckpt: Expected a checkpoint of a run but it has no weights"):
        module().read_checkpoint(tmp_path / "a.ckpt")
