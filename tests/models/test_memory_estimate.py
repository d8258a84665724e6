"""What is told of memory is what models have: bytes exactly, and what the allocator counts nearly."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from radreward.criteria import RadCliQCriteria
from radreward.data.packing import Packing, pack
from radreward.errors import InputError
from radreward.models import Backbone, LoRA, RewardModel
from radreward.models.attention import model_inputs
from radreward.models.memory_estimate import Memory, Shape, memory, nf4_bytes
from radreward.models.published_configs import PUBLISHED, published
from radreward.models.tiny_backbones import tiny_model

SHAPE = Shape(prefix=192, candidate=56, candidates=3, groups=2)


def _bytes(values: Sequence[torch.Tensor]) -> int:
    return sum(value.numel() * value.itemsize for value in values)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [  # as published with the models, less the output layer where it is not tied
        ("meta-llama/Meta-Llama-3-8B", 8_030_261_248 - 128_256 * 4096),
        ("lmsys/vicuna-7b-v1.5", 6_738_415_616 - 32_000 * 4096),
        ("epfl-llm/meditron-7b", 6_738_415_616 - 32_000 * 4096 + 17 * 4096),
        ("google/gemma-7b", 8_537_680_896),
        ("Qwen/Qwen1.5-7B", 7_721_324_544 - 151_936 * 4096),
        ("microsoft/phi-2", 2_779_683_840 - 51_200 * 2561),
    ],
)
def test_published_dimensions_have_the_published_number_of_parameters(name: str, parameters: int) -> None:
    from transformers import AutoModel

    with torch.device("meta"):
        model = AutoModel.from_config(published(name))
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters
    assert name in PUBLISHED


@pytest.mark.parametrize("family", ["bert", "llama", "phi"])
@pytest.mark.parametrize("lora", [LoRA(4), None])
def test_weights_gradients_and_moments_are_those_of_a_step(tmp_path: Path, family: str, lora: LoRA | None) -> None:
    tiny_model(family).save_pretrained(tmp_path)
    backbone = Backbone(str(tmp_path), lora, dtype="bfloat16")
    model = RewardModel(backbone, RadCliQCriteria(), head_hidden_size=5)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained)
    model(pack([[[1, 2], [3]]], "tree")).sum().backward()
    for parameter in trained:
        parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    optimizer.step()
    moments = [value for state in optimizer.state.values() for name, value in state.items() if name != "step"]
    found = memory(backbone, RadCliQCriteria(), SHAPE, hidden=5)
    tensors = [*model.encoder.parameters(), *model.encoder.buffers()]
    assert found.weights == _bytes([value for value in tensors if not value.requires_grad])
    assert found.trained == _bytes(trained)
    assert found.gradients == _bytes([parameter.grad for parameter in trained if parameter.grad is not None])
    assert found.optimizer == _bytes(moments)


@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_weights_in_fewer_bits_are_those_that_bitsandbytes_holds(tmp_path: Path, bits: str) -> None:
    pytest.importorskip("bitsandbytes")
    tiny_model("llama").save_pretrained(tmp_path)
    backbone = Backbone(str(tmp_path), LoRA(4), "4bit" if bits == "4bit" else "8bit", dtype="bfloat16")
    held = 0
    for module in backbone.build().modules():
        for value in [*module.parameters(recurse=False), *module.buffers(recurse=False)]:
            held += 0 if value.requires_grad else _bytes([value])
            for name in ("SCB",):
                held += _bytes([getattr(value, name)]) if isinstance(getattr(value, name, None), torch.Tensor) else 0
            if (state := getattr(value, "quant_state", None)) is not None:
                held += _bytes([state.absmax, state.code, state.offset, state.state2.absmax, state.state2.code])
    assert memory(backbone, RadCliQCriteria(), SHAPE).weights == held


def _allocated(backbone: Backbone, packing: Packing) -> int:
    """Bytes that the allocator holds after a real forward pass and did not hold before it."""
    encoder, config = backbone.build(), backbone.config()
    paths = [[[group + 2, *[1] * (SHAPE.prefix - 1)], [1] * SHAPE.candidate] for group in (0, 0, 0, 1, 1, 1)]
    packed = pack(paths, packing)
    with (
        torch.autocast("cpu", torch.bfloat16),
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found,
    ):
        inputs = model_inputs(packed, config, getattr(torch, backbone.dtype))
        held = encoder(**inputs).last_hidden_state
    assert held.requires_grad
    return sum(event.self_cpu_memory_usage for event in found.key_averages())


@pytest.mark.parametrize("packing", ["tree", "rows"])
@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("family", ["bert", "gemma2", "llama", "phi"])
def test_activations_are_what_the_allocator_holds(family: str, checkpointing: bool, packing: Packing) -> None:
    backbone = Backbone(f"tiny-{family}", LoRA(4), dtype="bfloat16", gradient_checkpointing=checkpointing)
    found = memory(backbone, RadCliQCriteria(), SHAPE, packing, autocast=torch.bfloat16)
    # Besides, a layer that is computed anew keeps rotary tables and the state of random numbers.
    assert found.activations == pytest.approx(_allocated(backbone, packing), rel=0.05, abs=90_000 * checkpointing)
    if checkpointing:
        plain = memory(Backbone(f"tiny-{family}", LoRA(4), dtype="bfloat16"), RadCliQCriteria(), SHAPE, packing)
        assert found.activations < 0.6 * plain.activations
        assert found.working > 0


def test_nf4_has_half_a_byte_and_scales() -> None:
    assert nf4_bytes(64 * 256) == 64 * 128 + 256 + 4 + 4 * (16 + 256 + 1)
    assert nf4_bytes(1) == 1 + 1 + 4 + 4 * (16 + 256 + 1)


def test_the_total_is_the_sum() -> None:
    assert Memory(1, 2, 3, 4, 5, 6).total == 21


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(ValueError, match="`groups` to be >= 1 but got 0"):
        memory(Backbone("tiny-llama"), RadCliQCriteria(), Shape(groups=0))
    with pytest.raises(InputError, match="at most 2048"):
        memory(Backbone("microsoft/phi-2"), RadCliQCriteria(), Shape(prefix=2048))
    assert published("nobody/knows") is None
