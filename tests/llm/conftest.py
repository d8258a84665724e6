"""A tiny language model in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from radreward.data.tokenizer import byte_tokenizer


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a two-layer Llama with random weights, a byte tokenizer and a chat template."""
    folder = tmp_path_factory.mktemp("tiny-chat")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=260,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer = byte_tokenizer(encoder=False)
    tokenizer.chat_template = (
        "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content | trim }}\n{% endfor %}"
        "{% if add_generation_prompt %}[assistant] {% endif %}"
    )
    tokenizer.save_pretrained(folder)
    return folder
