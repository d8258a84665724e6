"""Optimizer, schedule and checkpoints."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import Criteria, RadCliQCriteria
from radreward.errors import InputError
from radreward.models import Backbone, LoRA
from radreward.modules import AdamWConfig, RewardModule
from radreward.objectives import DynamicWeighting, MarginRewardEnforcement
from radreward.types import RewardTrainingBatch

Make = Callable[..., RewardModule]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"lr": 0.0}, "`lr` to be > 0 but got 0.0"),
        ({"lr": math.nan}, "`lr`"),
        ({"head_lr": -1.0}, "`head_lr` to be > 0 but got -1.0"),
        ({"weight_decay": -0.1}, "`weight_decay` to be >= 0"),
        ({"warmup": 1.0}, r"`warmup` to be in \[0, 1\)"),
    ],
)
def test_settings_out_of_range_are_refused(values: dict[str, float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        AdamWConfig(**values)


@given(st.integers(1, 300), st.floats(0, 0.99))
def test_the_rate_rises_to_1_then_falls(steps: int, warmup: float) -> None:
    settings = AdamWConfig(warmup_ratio=warmup)
    rates = [settings.lr_factor(step, steps) for step in range(steps)]
    top = max(1, round(warmup * steps)) - 1
    assert rates[top] == 1
    assert all(low < high for low, high in zip(rates[:top], rates[1 : top + 1], strict=True))
    assert all(low <= high for high, low in zip(rates[top:], rates[top + 1 :], strict=False))
    assert all(0 < rate <= 1 for rate in rates)
    assert settings.lr_factor(steps, steps) == pytest.approx(0, abs=1e-12) or steps == top + 1


def test_every_trained_weight_is_in_one_group_with_its_rate_and_decay(module: Make) -> None:
    made = module()
    made.optimizer_config = AdamWConfig(lr=1e-4, head_lr=1e-3, weight_decay=0.1)

    class Steps:
        estimated_stepping_batches = 10

    made._trainer = Steps()  # type: ignore[assignment]  # all that the schedule asks of a trainer
    made._fabric = None
    optimizer: Any = made.configure_optimizers()["optimizer"]
    found = {id(p): (g["initial_lr"], g["weight_decay"]) for g in optimizer.param_groups for p in g["params"]}
    trained = {name: p for name, p in made.named_parameters() if p.requires_grad}
    assert len(found) == sum(len(group["params"]) for group in optimizer.param_groups) == len(trained)
    for name, parameter in trained.items():
        rate = 1e-3 if name.startswith(("model.head", "model.pooling")) else 1e-4
        assert found[id(parameter)] == (rate, 0.1 if parameter.ndim > 1 else 0.0), name


def saved(module: RewardModule, path: Path) -> dict[str, torch.Tensor]:
    checkpoint: dict[str, Any] = {"state_dict": module.state_dict()}
    module.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, path)
    state: dict[str, torch.Tensor] = torch.load(path, weights_only=True)["state_dict"]
    return state


# bitsandbytes reads a field of torch by a name that torch is dropping.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("quantization", ["4bit", "8bit", None])
def test_a_checkpoint_holds_adapters_and_head_whatever_the_backbone(
    quantization: Literal["4bit", "8bit"] | None,
    module: Make,
    tiny_folder: Path,
    batch: RewardTrainingBatch,
    tmp_path: Path,
) -> None:
    def make(seed: int) -> RewardModule:
        made = module(seed=seed, backbone=Backbone(str(tiny_folder), LoRA(4), quantization)).eval()
        for name, parameter in made.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter)
        return made

    one, other = make(0), make(1)
    with torch.no_grad():
        rewards = one(batch.packed)
        assert not torch.allclose(rewards, other(batch.packed))
    state = saved(one, tmp_path / "a.ckpt")
    assert state
    assert all("lora_" in name or name.startswith("model.head.") for name in state)
    other.load_state_dict(other.read_checkpoint(tmp_path / "a.ckpt")["state_dict"])  # strict
    with torch.no_grad():
        torch.testing.assert_close(other(batch.packed), rewards, rtol=0, atol=0)


def test_the_state_of_a_weighting_is_kept_though_it_grew(
    module: Make, batch: RewardTrainingBatch, tmp_path: Path
) -> None:
    one = module(MarginRewardEnforcement(weighting=DynamicWeighting(update_interval=1)))
    one.objective.weighting.update(torch.tensor([[True, False]]), torch.tensor([[True, True]]))
    saved(one, tmp_path / "a.ckpt")
    other = module(MarginRewardEnforcement(weighting=DynamicWeighting(update_interval=1)))
    other.load_state_dict(other.read_checkpoint(tmp_path / "a.ckpt")["state_dict"])
    assert other.objective.weighting.weights(2).tolist() == one.objective.weighting.weights(2).tolist()
    assert other.objective.weighting.weights(2)[0] != other.objective.weighting.weights(2)[1]


def test_a_checkpoint_of_another_model_is_refused_by_name(module: Make, tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    saved(module(), path)
    others = {
        "objective.weighting": module(MarginRewardEnforcement(weighting=DynamicWeighting())),
        "has the shape": module(criteria=RadCliQCriteria()),
        "is missing or unknown": module(backbone=Backbone("tiny-llama", LoRA(4, targets=["o_proj"]))),
    }
    for told, other in others.items():
        with pytest.raises(InputError, match=rf"a\.ckpt: is of another model: .*{told}"):
            other.read_checkpoint(path)


def test_other_criteria_of_the_same_number_are_refused(module: Make, tmp_path: Path) -> None:
    one, other = module(), module()
    for made, name in ((one, "tone"), (other, "voice")):
        criteria = Criteria("two", [{"name": name, "description": "x"}, {"name": "length", "description": "y"}])
        made.save_hyperparameters({"criteria": criteria.to_dict()}, logger=False)
    checkpoint = {"state_dict": one.state_dict(), "hyper_parameters": dict(one.hparams)}
    one.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "a.ckpt")
    assert one.read_checkpoint(tmp_path / "a.ckpt")
    with pytest.raises(InputError, match=r"a\.ckpt: was trained with another setting of criteria"):
        other.read_checkpoint(tmp_path / "a.ckpt")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"text", None])
def test_a_file_that_is_no_checkpoint_is_named(content: bytes | None, module: Make, tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    if content is None:
        torch.save({"weights": 1}, path)
    else:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.ckpt: Expected a checkpoint"):
        module().read_checkpoint(path)
