"""Architectures of published backbones, for computations without their weights and without the Hub."""

from __future__ import annotations

from transformers import AutoConfig, PreTrainedConfig

_LLAMA2 = {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32}

PUBLISHED: dict[str, dict[str, str | int | float]] = {
    # Grattafiori et al. 2024, "The Llama 3 Herd of Models", table 3.
    "meta-llama/Meta-Llama-3-8B": {
        **_LLAMA2,
        "model_type": "llama",
        "vocab_size": 128256,
        "intermediate_size": 14336,
        "num_key_value_heads": 8,
        "max_position_embeddings": 8192,
    },
    # Both are fine-tuned from Llama 2 7B (Touvron et al. 2023); Meditron adds 17 tokens (Chen et al. 2023).
    "lmsys/vicuna-7b-v1.5": {**_LLAMA2, "model_type": "llama", "vocab_size": 32000, "max_position_embeddings": 4096},
    "epfl-llm/meditron-7b": {**_LLAMA2, "model_type": "llama", "vocab_size": 32017, "max_position_embeddings": 2048},
    # Gemma Team 2024, "Gemma: Open Models Based on Gemini Research and Technology", table 1; each half of its gated
    # layer has 24576 units.
    "google/gemma-7b": {
        "model_type": "gemma",
        "vocab_size": 256000,
        "hidden_size": 3072,
        "intermediate_size": 24576,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "head_dim": 256,
        "max_position_embeddings": 8192,
    },
    # The configuration published with the model (Qwen Team 2024).
    "Qwen/Qwen1.5-7B": {
        **_LLAMA2,
        "model_type": "qwen2",
        "vocab_size": 151936,
        "num_key_value_heads": 32,
        "max_position_embeddings": 32768,
    },
    # The configuration published with the model (Microsoft Research 2023).
    "microsoft/phi-2": {
        "model_type": "phi",
        "vocab_size": 51200,
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "partial_rotary_factor": 0.4,
        "max_position_embeddings": 2048,
    },
}
"""Backbones of ER²Score, table 5: Hub name to keyword arguments of the transformers configuration."""


def published_config(name: str) -> PreTrainedConfig:
    """Return the architecture of a published backbone."""
    settings = dict(PUBLISHED[name])
    config: PreTrainedConfig = AutoConfig.for_model(str(settings.pop("model_type")), **settings)
    return config
