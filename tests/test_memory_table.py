"""The computed memory of published backbones."""

from importlib import import_module
from pathlib import Path

import pytest

from radreward.models import LoRA
from radreward.models.varlen_attention import kernel

NAME = "meta-llama/Meta-Llama-3-8B"


@pytest.mark.skipif(kernel() is None, reason="this torch has no varlen_attn, whose activations are counted")
def test_activations_with_checkpointing_are_the_inputs_of_the_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1])
    table = import_module("benchmarks.memory_table")
    inputs = 32 * 4096 * 2  # layers, hidden size and bytes of a number
    checkpointed = table.activation_bytes(NAME, LoRA(16), checkpointing=True)
    assert inputs <= checkpointed < 1.1 * inputs
    # In each layer at least gate, up and their product, 14,336 numbers each.
    assert table.activation_bytes(NAME, LoRA(16), checkpointing=False) > inputs + 32 * 3 * 14336 * 2
