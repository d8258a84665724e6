"""Attention over trees of nodes: a token attends to its own node and the node's ancestors.

On CUDA in half precision, one kernel computes all nodes, see `varlen_attention`. Elsewhere, nodes are padded rows of a
few products, see `attention_batches`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F

from radreward.devices import copy_to
from radreward.models.attention_batches import AttentionBatch, TokenOrder, Visibility, attention_batches, token_order
from radreward.models.varlen_attention import VarlenTensors, supports_varlen, varlen_attention, varlen_sequences
from radreward.types import PackedBatch


class NodeLayout:
    """Nodes of a packed batch as blocks of tokens, and their masks, which all layers share.

    In causal attention, an only child that follows its parent is part of the parent's block: a chain of nodes is an
    ordinary sequence.

    Args:
        lengths: Number of tokens of each node.
        parents: Parent of each node, -1 for a root.
        causal: True if a token attends to its own and earlier positions only.

    Attributes:
        lengths: Number of tokens of each block.
        paths: Blocks that each block attends to: its ancestors from the root, then itself.

    >>> layout = NodeLayout([2, 1, 3], [-1, 0, 0], causal=True)
    >>> layout.lengths, layout.paths
    ([2, 1, 3], [(0,), (0, 1), (0, 2)])
    >>> NodeLayout([2, 1, 3], [-1, 0, 1], causal=True).lengths
    [6]
    """

    def __init__(self, lengths: Sequence[int], parents: Sequence[int], causal: bool) -> None:
        self.causal = causal
        self.lengths: list[int] = []
        self.paths: list[tuple[int, ...]] = []
        self._masks: dict[object, Tensor | None] = {}
        self._sequences: VarlenTensors | None = None
        self._order: TokenOrder | None = None
        block_of: list[int] = []
        children = Counter(parents)
        for node, (length, parent) in enumerate(zip(lengths, parents, strict=True)):
            if causal and parent >= 0 and parent == node - 1 and children[parent] == 1:
                block_of.append(block_of[parent])
                self.lengths[-1] += length
                continue
            ancestors = self.paths[block_of[parent]] if parent >= 0 else ()
            block_of.append(len(self.lengths))
            self.paths.append((*ancestors, len(self.lengths)))
            self.lengths.append(length)

    @classmethod
    def from_packed(cls, packed: PackedBatch, causal: bool) -> NodeLayout:
        """Return the layout of a packed batch."""
        return cls(packed.node_lengths, packed.parent_ids, causal)

    @cached_property
    def batches(self) -> list[AttentionBatch]:
        """The blocks in padded rows."""
        return attention_batches(self.lengths, self.paths)

    @cached_property
    def _visibility(self) -> Visibility:
        return Visibility(self.lengths, self.paths, self.causal)

    def order(self, device: torch.device) -> TokenOrder:
        """Return the tokens of the rows, which are copied to the device once."""
        if self._order is None:
            self._order = token_order(self.batches, device)
        return self._order

    def is_sequence(self, batch: AttentionBatch, window: int | None) -> bool:
        """Return True if plain causal attention suffices: rows of one block without ancestors that fits the window."""
        return self.causal and batch.is_sequence and (window is None or batch.queries.shape[1] <= window)

    def mask(self, index: int, window: int | None, like: Tensor) -> Tensor | None:
        """Return the additive (R, 1, L, K) mask of a batch, None if every query sees all keys.

        Args:
            index: The batch.
            window: Number of positions that a token attends to, its own included; positions count along the path.
            like: Tensor that decides type and device.
        """
        key = (index, window, like.dtype)
        if key not in self._masks:
            hidden = self._visibility.hidden(self.batches[index], window)
            mask = torch.zeros(hidden.shape, dtype=like.dtype).masked_fill_(hidden, torch.finfo(like.dtype).min)
            self._masks[key] = copy_to(mask, like.device) if hidden.any() else None
        return self._masks[key]

    def sequences(self, device: torch.device) -> VarlenTensors:
        """Return the blocks as sequences of `varlen_attention`, which are copied to the device once."""
        if self._sequences is None:
            self._sequences = varlen_sequences(self.lengths, self.paths).to(device)
        return self._sequences


def node_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: NodeLayout,
    scaling: float | None = None,
    window: int | None = None,
    softcap: float | None = None,
) -> Tensor:
    """Return softmax(q kᵀ · scaling) v, each token over its own node and the node's ancestors.

    Args:
        query: (1, H, T, D).
        key: (1, H', T, D), each shared by H / H' heads.
        value: (1, H', T, D).
        layout: Blocks of the T tokens.
        scaling: Scale of the products; defaults to D^-½.
        window: Number of positions that a token attends to, its own included.
        softcap: Bound c of the products s, replaced by c · tanh(s / c).

    Returns:
        (1, T, H, D).
    """
    if supports_varlen(query, softcap):
        return varlen_attention(query, key, value, layout.sequences(query.device), layout.causal, scaling, window)
    order = layout.order(query.device)
    # Tensors are gathered once: each slice of a loop would write a gradient of full size.
    queries, keys, values = (
        tensor[0].transpose(0, 1).index_select(0, tokens)
        for tensor, tokens in ((query, order.queries), (key, order.keys), (value, order.keys))
    )
    query_sizes = [batch.queries.numel() for batch in layout.batches]
    key_sizes = [batch.keys.numel() for batch in layout.batches]
    pieces = zip(
        layout.batches,
        torch.split(queries, query_sizes),
        torch.split(keys, key_sizes),
        torch.split(values, key_sizes),
        strict=True,
    )
    parts = []
    for index, (batch, *tensors) in enumerate(pieces):
        rows = len(batch.queries)
        # (R, H, L, D)
        own = [tensor.view(rows, -1, *tensor.shape[1:]).transpose(1, 2) for tensor in tensors]
        is_causal = layout.is_sequence(batch, window)
        mask = None if is_causal else layout.mask(index, window, query)
        part = attention(own[0], own[1], own[2], mask, is_causal, scaling, softcap)
        parts.append(part.transpose(1, 2).flatten(0, 1))
    return torch.cat(parts).index_select(0, order.places).unsqueeze(0)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    is_causal: bool = False,
    scaling: float | None = None,
    softcap: float | None = None,
) -> Tensor:
    """Return (B, H, L, D) attention of queries over the keys that a mask leaves visible.

    Args:
        query: (B, H, L, D).
        key: (B, H', K, D), each shared by H / H' heads.
        value: (B, H', K, D).
        mask: (L, K), or broadcastable to (B, H, L, K); additive, or bool: True for visible keys.
        is_causal: Mask later keys; L must equal K.
        scaling: See `node_attention`.
        softcap: See `node_attention`.
    """
    heads_per_key = query.shape[1] // key.shape[1]
    # The backward pass of the fused kernel for bfloat16 on a CPU takes about twice the time of plain products.
    slow_backward = query.dtype == torch.bfloat16 and query.device.type == "cpu" and query.requires_grad
    if softcap is None and not slow_backward:
        if heads_per_key > 1 and mask is not None and query.is_cuda:  # no fused CUDA kernel has both
            key, value = (tensor.repeat_interleave(heads_per_key, 1) for tensor in (key, value))
        return F.scaled_dot_product_attention(
            query, key, value, mask, is_causal=is_causal, scale=scaling, enable_gqa=query.shape[1] != key.shape[1]
        )
    batch, heads, length, size = query.shape
    scaling = size**-0.5 if scaling is None else scaling
    if is_causal:
        mask = query.new_full((length, length), torch.finfo(query.dtype).min).triu_(1)
    # Heads that share a key are rows of one product, so that keys are not copied.
    grouped = (query * scaling).reshape(batch, key.shape[1], heads_per_key * length, size)
    scores = (grouped @ key.transpose(2, 3)).view(batch, heads, length, -1)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    elif mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1).view(batch, key.shape[1], heads_per_key * length, -1)
    return (weights @ value).view(batch, heads, length, size)
