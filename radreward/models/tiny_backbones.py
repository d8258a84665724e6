"""Tiny backbones with random weights and the architectures of real families, for tests."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    BertConfig,
    Gemma2Config,
    GemmaConfig,
    LlamaConfig,
    MistralConfig,
    PhiConfig,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
)

from radreward.errors import InputError

_COMMON: dict[str, Any] = {
    "vocab_size": 260,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
    "pad_token_id": 0,
}
_GROUPED_QUERY: dict[str, Any] = {**_COMMON, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}

FAMILIES: dict[str, PreTrainedConfig] = {
    "bert": BertConfig(**_COMMON),
    "generator": LlamaConfig(
        vocab_size=2048,
        hidden_size=192,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_heads=6,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    ),
    "gemma": GemmaConfig(**_GROUPED_QUERY, head_dim=8),
    "gemma2": Gemma2Config(**_GROUPED_QUERY, head_dim=8, sliding_window=24, query_pre_attn_scalar=8),
    "llama": LlamaConfig(**_GROUPED_QUERY),
    "mistral": MistralConfig(**_GROUPED_QUERY, sliding_window=24),
    "phi": PhiConfig(**_COMMON, bos_token_id=1, eos_token_id=2),
    "qwen2": Qwen2Config(**_GROUPED_QUERY),
}


def tiny_config(family: str) -> PreTrainedConfig:
    """Return a copy of the architecture; transformers modifies the configuration it is given.

    Raises:
        InputError: If there is no such family.

    >>> tiny_config("llama").model_type
    'llama'
    """
    if family not in FAMILIES:
        raise InputError(f"Expected a tiny backbone of {', '.join(FAMILIES)} but got 'tiny-{family}'.")
    return deepcopy(FAMILIES[family])


def tiny_model(family: str, causal_lm: bool = False) -> PreTrainedModel:
    """Return a model with random weights, the same at every call; `causal_lm` adds the language-model head.

    Raises:
        InputError: If there is no such family.

    >>> next(tiny_model("llama").parameters()).dtype
    torch.float32
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        auto_class: Any = AutoModelForCausalLM if causal_lm else AutoModel
        model: PreTrainedModel = auto_class.from_config(tiny_config(family))
    return model
