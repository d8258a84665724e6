"""Encoders without padding and masks: a batch is one sequence, and attention is computed node by node."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface, PreTrainedModel

from radreward.data.packing import NO_NODE
from radreward.models.attention import is_encoder, position_offset
from radreward.types import PackedBatch

ATTENTION_NAME = "radreward_node"


class NodeBlock(NamedTuple):
    """Tokens of one node, and the tokens they attend to: the node's ancestors from the root, then the node."""

    queries: slice
    keys: tuple[slice, ...]


def node_blocks(packed: PackedBatch) -> list[NodeBlock]:
    """Return the nodes of all rows, one row after the other without padding.

    >>> from radreward.data.packing import pack
    >>> node_blocks(pack([[[7, 8], [1]], [[7, 8], [2, 3]]], "tree"))[2]
    NodeBlock(queries=slice(3, 5, None), keys=(slice(0, 2, None), slice(3, 5, None)))
    """
    blocks: list[NodeBlock] = []
    column = 0
    for nodes, parents in zip(packed.node_ids, packed.parent_ids.tolist(), strict=True):
        row: list[NodeBlock] = []
        lengths = nodes[nodes >= 0].bincount().tolist()
        for length, parent in zip(lengths, (p for p in parents if p != NO_NODE), strict=True):
            own = slice(column, column := column + length)
            row.append(NodeBlock(own, (*(row[parent].keys if parent >= 0 else ()), own)))
        blocks += row
    return blocks


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
    """Compute softmax(q kᵀ · scaling) v node by node, for transformers' `AttentionInterface`.

    Args:
        module: The attention layer.
        query: (1, heads, T, D), as are `key` and `value`.
        key: See `query`.
        value: See `query`.
        attention_mask: Must be None: the blocks replace it.
        node_blocks: Result of `node_blocks`; must cover the T tokens in order.
        scaling: Scale of the products.
        **kwargs: Further arguments of transformers, unused.

    Returns:
        (1, T, heads, D), and no weights.

    Raises:
        ValueError: If there are no blocks or there is a mask: the result would be silently wrong.
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
    """Return a backbone prepared for `encode_packed`, or None if it is not supported.

    It must be an encoder without adapters on the CPU: a causal mask does not consist of complete nodes, and a GPU is
    slow with many small calls.
    """
    if not isinstance(encoder, PreTrainedModel) or not is_encoder(encoder.config) or encoder.device.type != "cpu":
        return None
    encoder.set_attn_implementation(ATTENTION_NAME)
    return encoder


def encode_packed(encoder: PreTrainedModel, packed: PackedBatch) -> Tensor:
    """Return (R, L, H) hidden states, zeros at padding: those under a tree mask, without computing masked products.

    Args:
        encoder: Result of `enable_node_attention`.
        packed: Any rows.
    """
    is_token = packed.node_ids >= 0
    flat = encoder(
        input_ids=packed.input_ids[is_token].unsqueeze(0),
        position_ids=packed.position_ids[is_token].unsqueeze(0) + position_offset(encoder.config),
        node_blocks=node_blocks(packed),
    ).last_hidden_state[0]
    padded: Tensor = flat.new_zeros(*is_token.shape, flat.shape[-1])
    padded[is_token] = flat
    return padded
