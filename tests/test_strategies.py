"""Multi-GPU settings that can be checked without a GPU."""

import inspect
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy
from torch import distributed, nn
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from radreward.cli import build
from radreward.criteria import RadCliQCriteria
from radreward.data.packing import pack
from radreward.errors import InputError
from radreward.models import Backbone, PooledRewardModel
from radreward.models.lora import LoRA
from radreward.modules import RewardModule, RunFolder
from radreward.modules.checkpoints import check_unsharded

CPU = torch.device("cpu")
FOLDER = Path(__file__).resolve().parents[1] / "experiments" / "er2score"


def built(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Build a configuration with a small backbone, on a machine that reports two GPUs."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    # DeepSpeed is not installed for tests; building needs only these.
    for condition in ("AVAILABLE", "GREATER_EQUAL_0_16"):
        monkeypatch.setattr(f"lightning.pytorch.strategies.deepspeed._DEEPSPEED_{condition}", True)
    logger = SimpleNamespace(setLevel=lambda level: None)
    absent: Any = SimpleNamespace(__version__="0.18.0", utils=SimpleNamespace(logging=SimpleNamespace(logger=logger)))
    monkeypatch.setitem(sys.modules, "deepspeed", absent)
    given = [
        "model.backbone.name=tiny-llama",
        f"run_dir={tmp_path / 'run'}",
        f"data.records={tmp_path / 'groups.parquet'}",
    ]
    return build(FOLDER / name, "trainer.accelerator=gpu", *given)


def test_fsdp_shards_the_layers_of_the_backbone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = built("llama3-8b-fsdp.yaml", tmp_path, monkeypatch)
    strategy = training.trainer.strategy
    assert type(strategy) is FSDPStrategy
    assert training.trainer.world_size == 2
    policy = strategy.kwargs["auto_wrap_policy"]
    cut = [
        module for module in training.module.modules() if policy(module=module, recurse=False, nonwrapped_numel=10**9)
    ]
    assert [type(module).__name__ for module in cut] == ["LlamaDecoderLayer"] * 2
    assert training.trainer.precision == "bf16-mixed"
    assert strategy.mixed_precision_config == MixedPrecision()
    dtypes = {parameter.dtype for parameter in training.module.parameters()}
    assert dtypes == {torch.float32}, "parameters of an FSDP unit have one type, and adapters are float32"


@pytest.mark.filterwarnings("ignore")  # of FSDP, about one process and frozen parameters
def test_fsdp_settings_leave_adapters_heads_and_rewards_in_float32(tmp_path: Path) -> None:
    lora = LoRA(r=2, targets=["q_proj", "v_proj"])
    model = PooledRewardModel(Backbone("tiny-llama", lora=lora, dtype="float32"), RadCliQCriteria())
    packed = pack([[[1, 2], [3, 4]], [[1, 2], [5]]])
    with torch.autocast("cpu", torch.bfloat16):
        expected = model(packed).rewards
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    try:
        policy = ModuleWrapPolicy({LlamaDecoderLayer})
        wrapped = FullyShardedDataParallel(
            model, auto_wrap_policy=policy, mixed_precision=MixedPrecision(), use_orig_params=True, device_id=CPU
        )
        with torch.autocast("cpu", torch.bfloat16):
            rewards = wrapped(packed).rewards
        rewards.sum().backward()
    finally:
        distributed.destroy_process_group()
    assert rewards.dtype == torch.float32
    torch.testing.assert_close(rewards, expected)
    trained = {name: value for name, value in wrapped.named_parameters() if value.requires_grad}
    assert any("lora_A" in name for name in trained)
    assert any("head" in name for name in trained)
    assert {value.dtype for value in trained.values()} == {torch.float32}
    assert {value.grad.dtype for value in trained.values() if value.grad is not None} == {torch.float32}


def test_deepspeed_accepts_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = yaml.safe_load((FOLDER / "llama3-8b-deepspeed.yaml").read_text())["trainer"]["strategy"]["init_args"]
    inspect.signature(DeepSpeedStrategy).bind(**given)
    training = built("llama3-8b-deepspeed.yaml", tmp_path, monkeypatch)
    strategy = training.trainer.strategy
    assert type(strategy) is DeepSpeedStrategy
    assert strategy.config is not None
    assert strategy.config["zero_optimization"]["stage"] == 2
    assert strategy.exclude_frozen_parameters
    check_unsharded(training.trainer, training.run_folder)  # raises nothing: every GPU holds all weights


def test_check_unsharded_names_the_export_command(tmp_path: Path) -> None:
    trainer: Any = SimpleNamespace(strategy=FSDPStrategy())
    with pytest.raises(InputError, match="--ckpt-path=last --trainer.strategy=auto --trainer.devices=1"):
        check_unsharded(trainer, RunFolder(tmp_path))


class Wrapper(nn.Module):
    """Module that names its content like torch's wrappers."""

    def __init__(self, name: str, module: nn.Module) -> None:
        super().__init__()
        self.add_module(name, module)


def test_checkpoint_keys_do_not_contain_wrappers() -> None:
    module = RewardModule(RadCliQCriteria(), Backbone("tiny-llama"))
    expected = module.checkpoint_keys()
    wrapped = Wrapper("_fsdp_wrapped_module", Wrapper("_checkpoint_wrapped_module", module.model.head))
    module.model.add_module("head", wrapped)
    assert module.checkpoint_keys() == expected
