"""Loading and training of backbones by name."""

from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from transformers import AutoConfig, AutoModel, LlamaConfig

from radreward.criteria import RadCliQCriteria
from radreward.data.packing import pack
from radreward.errors import InputError
from radreward.models import Backbone, LoRA, PooledRewardModel
from radreward.models.tiny_backbones import tiny_model

PACKED = pack([[[1, 2, 8, 9], [3, 7]], [[1, 2, 8, 9], [4, 5]]], "tree")


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    """Return a decoder with rows of 64 weights, the block size of NF4."""
    config = LlamaConfig(
        vocab_size=32, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4
    )
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(tmp_path / "llama")
    return tmp_path / "llama"


def _losses(model: PooledRewardModel, steps: int = 12) -> list[float]:
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    target = torch.tensor([[1.0] * 6, [-1.0] * 6])
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(PACKED).rewards - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# bitsandbytes uses a name that torch has deprecated.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("quantization", ["4bit", "8bit"])
def test_quantized_backbone_trains_its_adapters(llama: Path, quantization: Literal["4bit", "8bit"]) -> None:
    bitsandbytes = pytest.importorskip("bitsandbytes")
    model = PooledRewardModel(Backbone(str(llama), LoRA(4), quantization), RadCliQCriteria())
    kind = bitsandbytes.nn.Linear4bit if quantization == "4bit" else bitsandbytes.nn.Linear8bitLt
    assert any(isinstance(module, kind) for module in model.modules())
    before = {name: value.clone() for name, value in model.trained_state().items()}
    losses = _losses(model)
    assert all(torch.tensor(losses).isfinite())
    assert losses[-1] < 0.5 * losses[0]
    after = model.trained_state()
    assert all("lora_" in name or name.startswith("head.") for name in after)
    assert all(not torch.equal(before[name], after[name]) for name in after)


# bitsandbytes uses a name that torch has deprecated.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_4bit_backbone_gradients_are_unchanged_by_evaluation(llama: Path) -> None:
    bitsandbytes = pytest.importorskip("bitsandbytes")
    gradients = []
    for evaluated in (False, True):
        torch.manual_seed(0)
        model = PooledRewardModel(Backbone(str(llama), LoRA(4), "4bit"), RadCliQCriteria())
        layers = [module for module in model.modules() if isinstance(module, bitsandbytes.nn.Linear4bit)]
        assert not any(getattr(layer, "support_avx512bf16_for_cpu", False) for layer in layers)
        if evaluated:
            with torch.no_grad():
                model.eval()(PACKED)
        model.train()(PACKED).rewards.square().sum().backward()
        gradients.append({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
    names = [name for name in gradients[0] if "lora_B" in name]
    assert len(names) == 4  # queries and values of both layers
    assert all(gradients[0][name].abs().max() > 0 for name in names)
    torch.testing.assert_close(gradients[1], gradients[0])


@pytest.mark.parametrize("lora", [LoRA(4, targets=["dense"]), LoRA(4, targets="all-linear"), LoRA(4), None])
@pytest.mark.parametrize("kind", ["bert", "camembert", "electra", "roberta", "xlm-roberta"])
def test_encoder_every_trainable_weight_gets_a_gradient(kind: str, lora: LoRA | None, tmp_path: Path) -> None:
    sizes = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    config = AutoConfig.for_model(kind, **sizes, num_attention_heads=2, max_position_embeddings=64, type_vocab_size=1)
    AutoModel.from_config(config).save_pretrained(tmp_path)
    model = PooledRewardModel(Backbone(str(tmp_path), lora), RadCliQCriteria())
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter)
    model(PACKED).rewards.square().sum().backward()
    unused = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    assert unused == []
    assert not any("encoder.pooler" in name or "model.pooler" in name for name in model.trained_state())


def test_gradient_checkpointing_keeps_gradients(tmp_path: Path) -> None:
    tiny_model("llama").save_pretrained(tmp_path)
    gradients = []
    for checkpointing in (False, True):
        torch.manual_seed(0)
        backbone = Backbone(str(tmp_path), LoRA(4), gradient_checkpointing=checkpointing)
        model = PooledRewardModel(backbone, RadCliQCriteria()).train()
        model(PACKED).rewards.square().sum().backward()
        gradients.append([p.grad for p in model.parameters() if p.requires_grad])
    torch.testing.assert_close(*gradients)


def test_bfloat16_backbone_gives_float32_rewards(tmp_path: Path) -> None:
    tiny_model("llama").save_pretrained(tmp_path)
    rewards = PooledRewardModel(Backbone(str(tmp_path), dtype="bfloat16"), RadCliQCriteria())(PACKED).rewards
    assert rewards.dtype == torch.float32
    assert rewards.isfinite().all()


def test_build_unloadable_backbone_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tiny-nothing"):
        Backbone("tiny-nothing").build()
    with pytest.raises(InputError, match="there is no such folder"):
        Backbone(str(tmp_path / "nowhere")).build()
    tiny_model("llama").config.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="no weights"):
        Backbone(str(tmp_path)).build()
    with pytest.raises(ValueError, match="`lora`"):
        Backbone(lora=None, quantization="4bit")
    for name in ("tiny-llama", "tiny-bert"):
        with pytest.raises(ValueError, match=f"`quantization` with '{name}'"):
            Backbone(name, quantization="8bit")


def test_build_causal_lm_has_a_head_and_loads_saved_weights(tmp_path: Path) -> None:
    writer: Any = Backbone("tiny-llama", lora=None).build(causal_lm=True)
    tokens = torch.tensor([[1, 70, 71]])
    assert writer(tokens).logits.shape == (1, 3, 260)
    writer.save_pretrained(tmp_path)
    loaded: Any = Backbone(str(tmp_path), lora=None).build(causal_lm=True)
    torch.testing.assert_close(loaded(tokens).logits, writer(tokens).logits)
    assert any("lora" in name for name, _ in Backbone(str(tmp_path)).build(causal_lm=True).named_parameters())


def test_build_encoder_as_causal_lm_raises() -> None:
    with pytest.raises(InputError, match="tiny-bert: Expected a causal language model but bert is an encoder"):
        Backbone("tiny-bert").build(causal_lm=True)


@pytest.mark.parametrize("lora", [None, LoRA(4, 6, ["query"])])
def test_from_dict_restores_backbone_and_adapters(lora: LoRA | None) -> None:
    backbone = Backbone("tiny-bert", lora, dtype="bfloat16")
    restored = Backbone.from_dict(backbone.to_dict())
    assert restored.to_dict() == backbone.to_dict()
    assert restored.local_files_only
