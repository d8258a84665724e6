"""Attention over trees with one FlashAttention kernel per layer, for CUDA.

A block of tokens and the blocks before it on its path are one sequence of the kernel: the queries are the block's
tokens, the keys those of the path. If a sequence has L queries and K keys, the kernel aligns a causal mask lower right:
query i sees the keys up to K - L + i, which is a block after its path. Keys that several paths share are gathered once
per path, in one operation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any, NamedTuple

import torch
from torch import Tensor

from radreward.devices import copy_to

_MAX_HEAD_SIZE = 256
_MIN_CAPABILITY = (8, 0)
"""Ampere."""


class VarlenSequences(NamedTuple):
    """Sequences of the kernel, as Python numbers."""

    query_ends: list[int]
    """(S + 1,) 0 and the end of the queries of each sequence."""
    key_ends: list[int]
    """(S + 1,) 0 and the end of its keys."""
    key_tokens: list[int]
    """(K,) token of each key."""
    max_queries: int
    """Maximum number of queries of a sequence."""
    max_keys: int

    def to(self, device: torch.device) -> VarlenTensors:
        """Return the sequences on a device, in one copy."""
        parts = (self.query_ends, self.key_ends, self.key_tokens)
        joined = copy_to(torch.tensor([*chain(*parts)], dtype=torch.int32), device)
        query_ends, key_ends, key_tokens = torch.split(joined, [len(part) for part in parts])
        shares_keys = len(self.key_tokens) > self.query_ends[-1]
        return VarlenTensors(query_ends, key_ends, key_tokens if shares_keys else None, self.max_queries, self.max_keys)


class VarlenTensors(NamedTuple):
    """Sequences of the kernel on a device; see `VarlenSequences`."""

    query_ends: Tensor
    """(S + 1,) int32."""
    key_ends: Tensor
    """(S + 1,) int32."""
    key_tokens: Tensor | None
    """(K,) int32; None if the keys of all sequences are their own tokens."""
    max_queries: int
    max_keys: int


def varlen_sequences(lengths: Sequence[int], paths: Sequence[Sequence[int]]) -> VarlenSequences:
    """Return one sequence per block of tokens.

    Args:
        lengths: Number of tokens of each block, in the order of the tokens.
        paths: Blocks that each block attends to: its ancestors from the root, then itself.

    >>> varlen_sequences([2, 1, 3], [(0,), (0, 1), (0, 2)])[:3]
    ([0, 2, 3, 6], [0, 2, 5, 10], [0, 1, 0, 1, 2, 0, 1, 3, 4, 5])
    """
    ends = list(accumulate(lengths, initial=0))
    key_lengths = [sum(lengths[block] for block in path) for path in paths]
    key_tokens = [token for path in paths for block in path for token in range(ends[block], ends[block + 1])]
    return VarlenSequences(ends, list(accumulate(key_lengths, initial=0)), key_tokens, max(lengths), max(key_lengths))


@cache
def kernel() -> Callable[..., Any] | None:
    """Return `torch.nn.attention.varlen.varlen_attn`; None if this torch lacks it or its windows (before 2.11)."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    return varlen_attn if {"scale", "window_size"} <= inspect.signature(varlen_attn).parameters.keys() else None


@cache
def _has_shared_heads(attend: Callable[..., Any]) -> bool:
    return "enable_gqa" in inspect.signature(attend).parameters


def supports_varlen(query: Tensor, softcap: float | None) -> bool:
    """Return True if the kernel computes attention of (1, H, T, D) queries.

    It needs a build of torch with FlashAttention, an NVIDIA GPU of compute capability 8.0 or higher, float16 or
    bfloat16, heads of at most 256 numbers, a multiple of 8, and no bound of the products.
    """
    return (
        query.is_cuda
        and query.dtype in (torch.float16, torch.bfloat16)
        and softcap is None
        and query.shape[-1] % 8 == 0
        and query.shape[-1] <= _MAX_HEAD_SIZE
        and torch.version.hip is None
        and torch.cuda.get_device_capability(query.device) >= _MIN_CAPABILITY
        and kernel() is not None
        and torch.backends.cuda.is_flash_attention_available()
    )


def varlen_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    sequences: VarlenTensors,
    causal: bool,
    scaling: float | None = None,
    window: int | None = None,
) -> Tensor:
    """Return (1, T, H, D) attention as `node_attention` does, by one call of the kernel.

    Args:
        query: (1, H, T, D).
        key: (1, H', T, D), each shared by H / H' heads.
        value: (1, H', T, D).
        sequences: The sequences on the same device.
        causal: True if a token attends to its own and earlier positions only.
        scaling: Scale of the products; defaults to D^-½.
        window: Number of positions that a token attends to, its own included, in causal attention.

    Raises:
        RuntimeError: If torch has no such kernel; see `supports_varlen`.
    """
    attend = kernel()
    if attend is None:
        raise RuntimeError("Expected torch 2.11 or newer with varlen_attn.")
    query, key, value = (tensor[0].transpose(0, 1) for tensor in (query, key, value))
    if sequences.key_tokens is not None:
        key, value = (tensor.index_select(0, sequences.key_tokens) for tensor in (key, value))
    options: dict[str, Any] = {}
    if (heads_per_key := query.shape[1] // key.shape[1]) > 1:
        if _has_shared_heads(attend):
            options["enable_gqa"] = True
        else:  # torch 2.11
            key, value = (tensor.repeat_interleave(heads_per_key, 1) for tensor in (key, value))
    before = -1 if window is None else window - 1
    attended: Tensor = attend(
        query,
        key,
        value,
        sequences.query_ends,
        sequences.key_ends,
        sequences.max_queries,
        sequences.max_keys,
        scale=scaling,
        window_size=(before, 0) if causal else (-1, -1),
        **options,
    )
    return attended.unsqueeze(0)
