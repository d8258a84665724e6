"""Adapted layers and numbers of parameters of published architectures."""

import pytest
import torch
from transformers import AutoModel, GemmaConfig, LlamaConfig, PhiConfig, PreTrainedConfig, Qwen2Config

from radreward.errors import InputError
from radreward.models import LoRA
from radreward.models.tiny_backbones import tiny_model

# Published sizes, except for the vocabulary, which has no adapters.
PUBLISHED: dict[str, tuple[PreTrainedConfig, int]] = {
    "Llama-3-8B": (
        LlamaConfig(
            vocab_size=8, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
            num_key_value_heads=8,
        ),
        6_815_744,
    ),
    "Llama-2-7B": (
        LlamaConfig(
            vocab_size=8, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32
        ),
        8_388_608,
    ),
    "Gemma-7B": (
        GemmaConfig(
            vocab_size=8, hidden_size=3072, intermediate_size=24576, num_hidden_layers=28, num_attention_heads=16,
            num_key_value_heads=16, head_dim=256,
        ),
        6_422_528,
    ),
    "Qwen1.5-7B": (
        Qwen2Config(
            vocab_size=8, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
            num_key_value_heads=32,
        ),
        8_388_608,
    ),
    "Phi-2": (
        PhiConfig(
            vocab_size=8, hidden_size=2560, intermediate_size=10240, num_hidden_layers=32, num_attention_heads=32
        ),
        5_242_880,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_apply_adds_the_expected_number_of_parameters(name: str) -> None:
    config, expected = PUBLISHED[name]
    config.pad_token_id = None
    with torch.device("meta"):
        model = LoRA(r=16).apply(AutoModel.from_config(config))
    assert sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad) == expected


def test_apply_unknown_target_raises() -> None:
    with pytest.raises(InputError, match="nothing_here"):
        LoRA(targets=["nothing_here"]).apply(tiny_model("llama"))


@pytest.mark.parametrize(("r", "alpha", "message"), [(0, None, "`r`"), (4, 0, "`alpha`")])
def test_constructor_invalid_setting_raises(r: int, alpha: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LoRA(r, alpha)


def test_apply_new_adapters_change_nothing() -> None:
    tokens = torch.tensor([[1, 5, 9]])
    expected = tiny_model("qwen2")(tokens).last_hidden_state
    torch.testing.assert_close(LoRA(2).apply(tiny_model("qwen2"))(tokens).last_hidden_state, expected)
