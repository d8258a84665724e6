"""GPU memory for fine-tuning published backbones, before activations; computed on the meta device.

Needs no weights, Hub access or GPU. In NF4 with double quantization, a linear layer of n weights takes n / 2 bytes,
one byte per 64 weights for their scale, and 4 bytes per 256 scales (Dettmers et al. 2023, sections 3 and 4). The
optimizer is AdamW. Activations depend on batch size and packing and are not included.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from torch import nn
from transformers import AutoModel

from benchmarks._figures import Figure
from benchmarks._published_configs import PUBLISHED, published_config
from radreward.models import LoRA

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
    table = Table("backbone", *columns, box=MARKDOWN, title=f"Memory without activations, LoRA rank {rank}")
    for name in PUBLISHED:
        memory = compute_memory(name, LoRA(rank))
        weights = (f"{value / GIB:.1f}" for value in memory[:2])
        table.add_row(name, *weights, *(f"{value / MIB:.0f}" for value in memory[2:]))
    Console(width=140).print(table)
    return []
