"""Encoders without padding and without masks: a batch is one sequence, and each node looks at what it may see."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface, PreTrainedModel

from radreward.data.packing import NO_NODE
from radreward.models.attention import OFFSET_POSITION_TYPES, is_encoder
from radreward.types import PackedBatch

ATTENTION_NAME = "radreward_nodewise"


class NodeBlock(NamedTuple):
    """The tokens of one node, and those they see: of the node's ancestors from the root, then its own."""

    queries: slice
    keys: tuple[slice, ...]


def node_blocks(packed: PackedBatch) -> list[NodeBlock]:
    """The nodes of all rows, one row after the other without the padding.

    >>> from radreward.data.packing import pack
    >>> blocks(pack([[[7, 8], [1]], [[7, 8], [2, 3]]], "tree"))[2]
    Block(queries=slice(3, 5, None), keys=(slice(0, 2, None), slice(3, 5, None)))
    """
    found: list[NodeBlock] = []
    column = 0
    for nodes, parents in zip(packed.node_ids, packed.parent_ids.tolist(), strict=True):
        row: list[NodeBlock] = []
        lengths = nodes[nodes >= 0].bincount().tolist()
        for length, parent in zip(lengths, (p for p in parents if p != NO_NODE), strict=True):
            own = slice(column, column := column + length)
            row.append(NodeBlock(own, (*(row[parent].keys if parent >= 0 else ()), own)))
        found += row
    return found


def node_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    node_blocks: list[NodeBlock] | None = None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """softmax(q kᵀ · scaling) v, in one piece for each node: for transformers' `AttentionInterface`.

    Args:
        module: The attention layer.
        query: (1, heads, T, D), as are `key` and `value`.
        key: See `query`.
        value: See `query`.
        attention_mask: Must be None: the blocks say who sees whom.
        node_blocks: As `blocks` gives them; they must cover the T tokens in order.
        scaling: As for transformers' own attention.
        **kwargs: What transformers passes to every attention; an encoder in use needs nothing of it.

    Returns:
        (1, T, heads, D), and no weights.

    Raises:
        ValueError: If there are no blocks or there is a mask: attention would be wrong without a word.
    """
    if node_blocks is None or attention_mask is not None:
        raise ValueError("Expected `node_blocks` and no `attention_mask`.")
    out = torch.empty_like(query)
    for queries, keys in node_blocks:
        k, v = (torch.cat([x[:, :, span] for span in keys], 2) for x in (key, value))
        out[:, :, queries] = F.scaled_dot_product_attention(query[:, :, queries], k, v, scale=scaling)
    return out.transpose(1, 2), None


AttentionInterface.register(ATTENTION_NAME, node_attention)


def enable_node_attention(encoder: nn.Module) -> PreTrainedModel | None:
    """A backbone made ready for `states`, or None where it must do without.

    It has to be a plain encoder on the CPU: a causal mask does not fall into whole nodes, and a GPU would wait for the
    many small calls.
    """
    if not isinstance(encoder, PreTrainedModel) or not is_encoder(encoder.config) or encoder.device.type != "cpu":
        return None
    encoder.set_attn_implementation(ATTENTION_NAME)
    return encoder


def encode_packed(encoder: PreTrainedModel, packed: PackedBatch) -> Tensor:
    """(R, L, H) hidden states, zeros at padding: what the mask over trees gives, less the work on what it hides.

    Args:
        encoder: As `prepare` gives it.
        packed: Any rows.
    """
    config, real = encoder.config, packed.node_ids >= 0
    offset = config.pad_token_id + 1 if config.model_type in OFFSET_POSITION_TYPES else 0
    flat = encoder(
        input_ids=packed.input_ids[real].unsqueeze(0),
        position_ids=packed.position_ids[real].unsqueeze(0) + offset,
        node_blocks=node_blocks(packed),
    ).last_hidden_state[0]
    padded: Tensor = flat.new_zeros(*real.shape, flat.shape[-1])
    padded[real] = flat
    return padded
