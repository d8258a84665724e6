"""GPU memory for fine-tuning published backbones; computed on the meta device.

Needs no weights, Hub access or GPU. In NF4 with double quantization, a linear layer of n weights takes n / 2 bytes,
one byte per 64 weights for their scale, and 4 bytes per 256 scales (Dettmers et al. 2023, sections 3 and 4). The
optimizer is AdamW. Activations are the tensors that the backward pass of a group of four candidates needs, in bfloat16
and with one attention kernel per layer, without the head and without the temporary tensors of a layer.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from transformers import AutoModel

from benchmarks._figures import Figure
from benchmarks._gpu_models import RandomBackbone
from benchmarks._published_configs import PUBLISHED, published_config
from benchmarks.training_speed import Case, random_paths
from radreward.data.packing import pack
from radreward.models import LoRA, node_attention
from radreward.models.transformers_attention import packed_inputs

MIB, GIB = 2**20, 2**30
RANK = 16


class Memory(NamedTuple):
    """Bytes of a backbone in bfloat16 and of its adapters."""

    weights: int
    weights_4bit: int
    """The same with linear layers in NF4."""
    adapters: int
    optimizer: int
    """Gradients and both moments of AdamW."""


def compute_memory(name: str, lora: LoRA) -> Memory:
    """Return the bytes of a published backbone with adapters."""
    with torch.device("meta"):
        model = lora.apply(AutoModel.from_config(published_config(name), dtype=torch.bfloat16))
    adapters = sum(value.nbytes for value in model.parameters() if value.requires_grad)
    weights = sum(value.nbytes for value in model.parameters() if not value.requires_grad)
    linear = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    saved = sum(value.nbytes - nf4_bytes(value.numel()) for value in linear if not value.requires_grad)
    return Memory(weights, weights - saved, adapters, 3 * adapters)


def activation_bytes(name: str, lora: LoRA, checkpointing: bool) -> float:
    """Return the bytes per token that a forward pass of a published backbone keeps for its backward pass."""
    meta = torch.device("meta")
    backbone = RandomBackbone(published_config(name), meta, "bfloat16", lora, checkpointing)
    model: Any = backbone.build().to(torch.bfloat16).train()
    packed = pack(random_paths(Case(4, 112, 338, 90, groups=1), 1000)).to(meta)
    weights = {value.untyped_storage()._cdata for value in model.parameters()}
    storages: dict[int, Any] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights:
            storages[storage._cdata] = storage  # held, so that its number is not used again
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with patch.object(node_attention, "supports_varlen", return_value=True), hooks:
        model(**packed_inputs(model, packed))
    total: int = sum(storage.nbytes() for storage in storages.values())
    return total / len(packed.input_ids)


def nf4_bytes(entries: int) -> int:
    """Return the bytes of a weight in NF4 with double quantization.

    >>> round(nf4_bytes(4096 * 4096) / 4096**2, 4)
    0.5159
    """
    scales = -(-entries // 64)
    return -(-entries // 2) + scales + 4 * -(-scales // 256)


def main(rank: int = RANK) -> list[Figure]:
    """Print a Markdown table; nothing is measured."""
    columns = ("weights, bfloat16 (GiB)", "weights, 4-bit (GiB)", "adapters (MiB)", "gradients and optimizer (MiB)")
    activation_columns = ("activations per token (MiB)", "the same, checkpointed (MiB)")
    table = Table("backbone", *columns, *activation_columns, box=MARKDOWN, title=f"Memory, LoRA rank {rank}")
    for name in PUBLISHED:
        memory = compute_memory(name, LoRA(rank))
        weights = (f"{value / GIB:.1f}" for value in memory[:2])
        activations = (activation_bytes(name, LoRA(rank), checkpointing) for checkpointing in (False, True))
        trained = (f"{value / MIB:.0f}" for value in memory[2:])
        table.add_row(name, *weights, *trained, *(f"{value / MIB:.2f}" for value in activations))
    Console(width=220).print(table)
    return []
