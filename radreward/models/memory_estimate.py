"""What a training run needs of a device's memory, told before it: counted on models that hold no numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel

from radreward.criteria import Criteria
from radreward.data.packing import Packing, pack
from radreward.models.attention import check_length, is_encoder, model_inputs
from radreward.models.backbone import Backbone
from radreward.models.heads import MultiRewardHead
from radreward.models.pooling import POOLINGS
from radreward.models.published_configs import published
from radreward.models.reward_model import PoolingName
from radreward.types import PackedBatch

BLOCK, SUPERBLOCK = 64, 256
"""Weights that share a scale in NF4, and scales that share one (Dettmers et al. 2023, sections 3 and 4)."""
TABLES = 4 * (16 + 256 + 1)
"""Bytes of the values of NF4, of those of its scales, and of their mean, with each layer."""


class Shape(NamedTuple):
    """A batch of training, in tokens."""

    prefix: int = 450
    """Of instruction, criteria and reference: what candidates share."""
    candidate: int = 90
    candidates: int = 4
    """Of each reference."""
    groups: int = 6
    """References in the batch."""


class Memory(NamedTuple):
    """Bytes of each kind; `total` is the peak of a step without what the device's own libraries take."""

    weights: int
    """Frozen: parameters and buffers."""
    trained: int
    """Adapters, pooling and head."""
    gradients: int
    optimizer: int
    """Both moments of AdamW."""
    activations: int
    """What the forward pass keeps for the backward pass."""
    working: int
    """What is there for a moment: a layer computed anew, weights of a layer out of 4 bits."""

    @property
    def total(self) -> int:
        """The sum."""
        return sum(self)


def memory(
    backbone: Backbone,
    criteria: Criteria,
    shape: Shape,
    packing: Packing = "tree",
    pooling: PoolingName = "auto",
    hidden: int = 0,
    autocast: torch.dtype | None = None,
) -> Memory:
    """Bytes that training a `RewardModel` takes.

    weights: of each frozen tensor, entries · bytes an entry; in 4 bits see `nf4_bytes`, in 8 bits a byte each and a
    scale of 4 a row. Those of `PUBLISHED` need no hub.

    gradients = trained; optimizer = 2 · trained (Kingma and Ba 2015: two moments, of the type of the weights).

    activations: the layers run once without numbers, and all that autograd would keep for the backward pass is
    counted, every storage once: so it holds for any architecture, mask and adapter. With gradient checkpointing a
    layer keeps its input only (Chen et al. 2016), and `working` has what one layer keeps when it is computed anew.
    Pooling and head, of thousands of numbers a candidate, are left out.

    Args:
        backbone: As it is to be trained.
        criteria: What is judged.
        shape: Of a batch; groups are of one length.
        packing: What shares a row.
        pooling: As for `RewardModel`.
        hidden: As for `RewardModel`.
        autocast: The precision of computation where it is not that of the weights: bfloat16 for `bf16-mixed`.

    Raises:
        InputError: If there is no such backbone, or it has no positions for the shape.
        ValueError: If a number of the shape is not positive.
    """
    for name, value in shape._asdict().items():
        if value < 1:
            raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
    config = published(backbone.name) or backbone.config()
    check_length(config, shape.prefix + shape.candidate)
    if pooling == "auto":
        pooling = "matching" if is_encoder(config) else "last"
    encoder = _on_meta(backbone, config)
    with torch.device("meta"):
        pool = POOLINGS[pooling](config.hidden_size)
        head = MultiRewardHead(pool.output_size, criteria, hidden)
    parameters = [parameter for module in (encoder, pool, head) for parameter in module.parameters()]
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    batch = _batch(shape, packing)
    kept = _activations(backbone, config, batch, autocast)
    working = _largest_linear(encoder) * getattr(torch, backbone.dtype).itemsize if backbone.quantization else 0
    if backbone.gradient_checkpointing:
        plain = Backbone(backbone.name, backbone.lora, dtype=backbone.dtype, attention=backbone.attention)
        working += _activations(plain, config, batch, autocast) // config.num_hidden_layers
    bytes_trained = sum(map(_bytes, trained))
    return Memory(
        _frozen(encoder, backbone.quantization),
        bytes_trained,
        bytes_trained,
        2 * bytes_trained,
        kept,
        working,
    )


def nf4_bytes(entries: int) -> int:
    """Of a weight in NF4 with double quantisation: half a byte an entry, scales of 8 bits, and scales of those.

    n / 2 + n / 64 + 4 n / (64 · 256), each rounded up, and the tables of the layer.

    >>> round(nf4_bytes(4096 * 4096) / 4096**2, 4)
    0.5159
    """
    scales = -(-entries // BLOCK)
    return -(-entries // 2) + scales + 4 * -(-scales // SUPERBLOCK) + TABLES


def _on_meta(backbone: Backbone, config: PreTrainedConfig) -> nn.Module:
    """The backbone with its adapters, shapes and types only."""
    attention = None if backbone.attention == "auto" else backbone.attention
    with torch.device("meta"):
        model: PreTrainedModel = AutoModel.from_config(
            config, dtype=getattr(torch, backbone.dtype), attn_implementation=attention
        )
        return backbone.prepare(model)


def _frozen(encoder: nn.Module, quantization: str | None) -> int:
    held = 0
    for module in encoder.modules():
        for name, value in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            if value.requires_grad:
                continue
            if quantization and isinstance(module, nn.Linear) and name == "weight":
                held += nf4_bytes(value.numel()) if quantization == "4bit" else value.numel() + 4 * len(value)
            else:
                held += _bytes(value)
    return held


def _bytes(value: Tensor) -> int:
    return value.numel() * value.itemsize


def _largest_linear(encoder: nn.Module) -> int:
    return max(module.weight.numel() for module in encoder.modules() if isinstance(module, nn.Linear))


def _batch(shape: Shape, packing: Packing) -> PackedBatch:
    """Groups of one length, each with a reference of its own."""
    prefix, own = [1] * shape.prefix, [1] * shape.candidate
    paths = [[[group + 2, *prefix[1:]], own] for group in range(shape.groups) for _ in range(shape.candidates)]
    return pack(paths, packing)


def _activations(
    backbone: Backbone, config: PreTrainedConfig, packed: PackedBatch, autocast: torch.dtype | None
) -> int:
    """Bytes that autograd keeps of a forward pass, weights apart.

    On fake tensors of the CPU, not on meta tensors, for which attention would be another function.
    """
    encoder = _on_meta(backbone, config).train()
    inputs = model_inputs(packed, config, getattr(torch, backbone.dtype))
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(value: Tensor) -> Tensor:
        storage = value.untyped_storage()
        if storage._cdata not in weights:
            kept[storage._cdata] = storage
        return value

    with FakeTensorMode(allow_non_fake_inputs=True):
        state = {
            name: torch.empty_like(value, device="cpu").requires_grad_(value.requires_grad)
            for name, value in [*encoder.named_parameters(), *encoder.named_buffers()]
        }
        weights = {value.untyped_storage()._cdata for value in state.values()}
        given = _without_numbers(inputs)
        with (
            torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value),
            torch.autocast("cpu", autocast, enabled=autocast is not None),
        ):
            found = torch.func.functional_call(encoder, state, (), given).last_hidden_state
        for value in [found, *_tensors(given)]:  # held as long as the graph, whether saved in it or not
            keep(value)
        return sum(storage.nbytes() for storage in kept.values())


def _without_numbers(inputs: Any) -> Any:
    if isinstance(inputs, dict):
        return {name: _without_numbers(value) for name, value in inputs.items()}
    return torch.empty_like(inputs) if isinstance(inputs, Tensor) else inputs


def _tensors(inputs: Any) -> list[Tensor]:
    if isinstance(inputs, dict):
        return [value for entry in inputs.values() for value in _tensors(entry)]
    return [inputs] if isinstance(inputs, Tensor) else []
