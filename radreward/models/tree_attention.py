"""Attention over trees that never computes what the mask would hide: one block of queries per node."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from radreward.types import PackedBatch

NAME = "radreward_tree"


class Block(NamedTuple):
    """The tokens of one node, and those it may look at."""

    queries: slice
    keys: tuple[slice, ...]
    """Ancestors from the root, then the node itself."""


def tree_blocks(packed: PackedBatch) -> list[list[Block]]:
    """Per row, the blocks of its nodes in order of columns; padding belongs to none.

    >>> from radreward.data.packing import pack
    >>> tree_blocks(pack([[[7, 8], [1]], [[7, 8], [2, 3]]], "tree"))[0][2]
    Block(queries=slice(3, 5, None), keys=(slice(0, 2, None), slice(3, 5, None)))
    """
    blocks = []
    for nodes, parents in zip(packed.nodes.tolist(), packed.parents.tolist(), strict=True):
        row: list[Block] = []
        start = 0
        for node, parent in enumerate(parents):
            if parent == -2:
                break
            own = slice(start, start := start + nodes.count(node))
            row.append(Block(own, (*(row[parent].keys if parent >= 0 else ()), own)))
        blocks.append(row)
    return blocks


def tree_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    tree_blocks: list[list[Block]] | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Scaled dot-product attention, node by node: for transformers' `AttentionInterface`.

    Args:
        module: The attention layer.
        query: (R, heads, L, D).
        key: (R, key heads, L, D).
        value: (R, key heads, L, D).
        attention_mask: (R, 1, L, L) additive; says within a block what is causal and inside the window.
        tree_blocks: As `tree_blocks` gives them; must be passed to the model's forward.
        **kwargs: As for transformers' own attention (`scaling`, `dropout` ...).

    Returns:
        (R, L, heads, D), zeros at padding, and no weights.

    Raises:
        ValueError: If the blocks or the mask are missing: attention would then be wrong silently.
    """
    if tree_blocks is None or attention_mask is None:
        raise ValueError("Expected `tree_blocks` and `attention_mask` with this attention.")
    rows = []
    for r, blocks in enumerate(tree_blocks):
        parts = []
        for queries, keys in blocks:
            k, v = (torch.cat([x[r : r + 1, :, span] for span in keys], 2) for x in (key, value))
            mask = torch.cat([attention_mask[r : r + 1, :, queries, span] for span in keys], 3)
            parts.append(sdpa_attention_forward(module, query[r : r + 1, :, queries], k, v, mask, **kwargs)[0])
        padding = query.shape[2] - blocks[-1].queries.stop
        rows.append(nn.functional.pad(torch.cat(parts, 1), (0, 0, 0, 0, 0, padding)))
    return torch.cat(rows), None


AttentionInterface.register(NAME, tree_attention)
