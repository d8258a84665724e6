"""Attention over one prompt and the completions that share it, without computing masked products.

Each completion attends to the prompt and to itself. A mask over the complete row would cost the square of its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

ATTENTION_NAME = "radreward_tree"

SUPPORTED_TYPES = frozenset({"gemma", "llama", "mistral", "olmo2", "phi3", "qwen2", "qwen3", "starcoder2"})
"""Architectures that pass the tree to their attention and need only positions there."""


class TreeLayout(NamedTuple):
    """Columns of a row of one prompt and its completions."""

    prompt_length: int
    """Columns [0, prompt_length) are the prompt."""
    completion_ends: tuple[int, ...]
    """End of each completion, which is the start of the next."""

    @classmethod
    def from_lengths(cls, prompt_length: int, completion_lengths: Sequence[int]) -> TreeLayout:
        """Return the layout of lengths in tokens.

        >>> TreeLayout.from_lengths(3, [2, 1])
        TreeLayout(prompt_length=3, completion_ends=(5, 6))
        """
        ends, end = [], prompt_length
        for length in completion_lengths:
            ends.append(end := end + length)
        return cls(prompt_length, tuple(ends))

    def position_ids(self, device: torch.device | None = None) -> Tensor:
        """Return (1, L) positions; every completion continues the prompt.

        >>> TreeLayout.from_lengths(3, [2, 1]).position_ids()
        tensor([[0, 1, 2, 3, 4, 3]])
        """
        starts = (self.prompt_length, *self.completion_ends[:-1])
        positions = [
            torch.arange(self.prompt_length, self.prompt_length + end - start)
            for start, end in zip(starts, self.completion_ends, strict=True)
        ]
        return torch.cat([torch.arange(self.prompt_length), *positions]).unsqueeze(0).to(device)


def enable_tree_attention(model: PreTrainedModel) -> bool:
    """Let a model read rows with the keyword argument `tree`; without it, attention is unchanged.

    Args:
        model: A transformers model, with or without adapters.

    Returns:
        False if the architecture or its attention implementation is not supported.
    """
    supported = ("sdpa", ATTENTION_NAME)
    if model.config.model_type not in SUPPORTED_TYPES or model.config._attn_implementation not in supported:
        return False
    model.set_attn_implementation(ATTENTION_NAME)
    return True


def tree_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    tree: TreeLayout | None = None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Compute attention of a row with a tree; without a tree, call the SDPA attention of transformers.

    Args:
        module: The layer.
        query: (1, H, L, D).
        key: (1, H', L, D), each shared by H / H' heads.
        value: (1, H', L, D).
        attention_mask: Mask of rows without a tree.
        tree: Layout of the row.
        scaling: Scale of the products.
        sliding_window: Number of positions that a token attends to, its own included.
        kwargs: Passed to the attention of transformers.

    Returns:
        (1, L, H, D), and no weights.
    """
    if tree is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, sliding_window=sliding_window, **kwargs
        )
    groups = query.shape[1] // key.shape[1]
    key, value = repeat_kv(key, groups), repeat_kv(value, groups)
    prompt = slice(0, tree.prompt_length)
    parts = [_attend(query[:, :, prompt], key[:, :, prompt], value[:, :, prompt], scaling, sliding_window)]
    start = tree.prompt_length
    for end in tree.completion_ends:
        keys, values = (torch.cat([x[:, :, prompt], x[:, :, start:end]], 2) for x in (key, value))
        parts.append(_attend(query[:, :, start:end], keys, values, scaling, sliding_window))
        start = end
    return torch.cat(parts, 2).transpose(1, 2).contiguous(), None


def _attend(query: Tensor, key: Tensor, value: Tensor, scaling: float | None, sliding_window: int | None) -> Tensor:
    """Compute causal attention of queries at the last positions of the keys."""
    length, total = query.shape[2], key.shape[2]
    if length == total and (sliding_window is None or sliding_window >= total):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
    position = torch.arange(total, device=query.device)
    distance = position[total - length :].unsqueeze(1) - position
    allowed = distance >= 0
    if sliding_window is not None:
        allowed &= distance < sliding_window
    mask = torch.zeros_like(allowed, dtype=query.dtype).masked_fill_(~allowed, torch.finfo(query.dtype).min)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)


AttentionInterface.register(ATTENTION_NAME, tree_attention)
AttentionMaskInterface.register(ATTENTION_NAME, sdpa_mask)
