"""Attention over one prompt and the completions that share it, without computing what the mask would hide.

Each node of a row looks at the nodes before it on its path and at itself: as many products as separate sequences of
the completions alone would need, where a mask over the whole row costs its length squared.
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
"""Architectures that hand the tree on to their attention, and need nothing there but positions."""


class TreeLayout(NamedTuple):
    """Columns of a row of one prompt and its completions."""

    prompt_length: int
    """Columns [0, prompt) are the prompt."""
    completion_ends: tuple[int, ...]
    """Each completion begins where the one before it ends."""

    @classmethod
    def from_lengths(cls, prompt_length: int, completion_lengths: Sequence[int]) -> TreeLayout:
        """From lengths in tokens.

        >>> Tree.of(3, [2, 1])
        Tree(prompt=3, ends=(5, 6))
        """
        ends, end = [], prompt_length
        for length in completion_lengths:
            ends.append(end := end + length)
        return cls(prompt_length, tuple(ends))

    def position_ids(self, device: torch.device | None = None) -> Tensor:
        """(1, L): every completion goes on where the prompt ends.

        >>> Tree.of(3, [2, 1]).positions()
        tensor([[0, 1, 2, 3, 4, 3]])
        """
        starts = (self.prompt_length, *self.completion_ends[:-1])
        own = [
            torch.arange(self.prompt_length, self.prompt_length + end - start)
            for start, end in zip(starts, self.completion_ends, strict=True)
        ]
        return torch.cat([torch.arange(self.prompt_length), *own]).unsqueeze(0).to(device)


def enable_tree_attention(model: PreTrainedModel) -> bool:
    """Let a model read rows with a `tree`; without one it attends as before. False where it cannot.

    Args:
        model: A model of transformers, adapters in it or not.
    """
    if model.config.model_type not in SUPPORTED_TYPES or model.config._attn_implementation not in (
        "sdpa",
        ATTENTION_NAME,
    ):
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
    **rest: Any,
) -> tuple[Tensor, None]:
    """Attention of transformers, for rows of one prompt and its completions; others go to its own.

    Args:
        module: The layer.
        query: (1, H, L, D).
        key: (1, H', L, D), each shared by H / H' heads.
        value: (1, H', L, D).
        attention_mask: Of rows without a tree.
        tree: Where the completions are.
        scaling: Of products.
        sliding_window: How many positions back a token sees, itself counted.
        rest: What transformers passes on to its own attention.

    Returns:
        (1, L, H, D), and no weights.
    """
    if tree is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, sliding_window=sliding_window, **rest
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
    """The queries stand at the last positions of the keys."""
    length, total = query.shape[2], key.shape[2]
    if length == total and (sliding_window is None or sliding_window >= total):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
    place = torch.arange(total, device=query.device)
    distance = place[total - length :].unsqueeze(1) - place
    seen = distance >= 0
    if sliding_window is not None:
        seen &= distance < sliding_window
    mask = torch.zeros_like(seen, dtype=query.dtype).masked_fill_(~seen, torch.finfo(query.dtype).min)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)


AttentionInterface.register(ATTENTION_NAME, tree_attention)
AttentionMaskInterface.register(ATTENTION_NAME, sdpa_mask)
