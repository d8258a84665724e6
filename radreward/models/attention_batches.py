"""Blocks of tokens as batches of attention products of equal size.

A product per node takes longer to start than to compute if nodes have a dozen tokens. Short blocks of the same path
therefore share a row, in which a mask hides them from each other, and rows of about the same size are one product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.devices import copy_to

_ROW = 64
"""Number of queries up to which blocks share a row; longer blocks have rows of their own."""
_MULTIPLE = 32
"""Sizes are multiples of it: torch's CPU kernels for bfloat16 are compiled per size."""
_PADDING = -1


class AttentionBatch(NamedTuple):
    """R rows of L queries and K keys, as tokens; -1 is padding."""

    queries: Tensor
    """(R, L) int64."""
    keys: Tensor
    """(R, K) int64."""
    is_sequence: bool
    """True if each row is one block without ancestors, whose mask can only be causal."""


def attention_batches(lengths: Sequence[int], paths: Sequence[Sequence[int]]) -> list[AttentionBatch]:
    """Return the batches of all blocks.

    Args:
        lengths: Number of tokens of each block, in the order of the tokens.
        paths: Blocks that each block attends to: its ancestors from the root, then itself.

    >>> reference, statements = attention_batches([40, 10, 12], [(0,), (0, 1), (0, 2)])
    >>> reference.queries.shape, statements.queries.shape, statements.keys.shape
    (torch.Size([1, 64]), torch.Size([1, 32]), torch.Size([1, 64]))
    """
    starts = list(accumulate(lengths, initial=0))
    rows: dict[tuple[int, int, bool], list[tuple[list[int], list[int]]]] = {}
    for first, last in _rows(lengths, paths):
        queries = list(range(starts[first], starts[last + 1]))
        ancestors = paths[first][:-1]
        keys = [*chain.from_iterable(range(starts[block], starts[block + 1]) for block in ancestors), *queries]
        size = (_padded(len(queries)), _padded(len(keys)), first == last and not ancestors)
        rows.setdefault(size, []).append((queries, keys))
    return [
        AttentionBatch(_pad([row[0] for row in batch], size[0]), _pad([row[1] for row in batch], size[1]), size[2])
        for size, batch in rows.items()
    ]


def _rows(lengths: Sequence[int], paths: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last block of each row; the blocks of a row have the same ancestors."""
    first = 0
    for block in range(1, len(lengths) + 1):
        ends = block == len(lengths) or paths[block][:-1] != paths[first][:-1] or sum(lengths[first : block + 1]) > _ROW
        if ends:
            yield first, block - 1
            first = block


def _padded(length: int) -> int:
    return -(-length // _MULTIPLE) * _MULTIPLE


def _pad(rows: Sequence[list[int]], length: int) -> Tensor:
    return torch.tensor([row + [_PADDING] * (length - len(row)) for row in rows])


class TokenOrder(NamedTuple):
    """Tokens of all batches, one batch after the other, on the device of the states."""

    queries: Tensor
    """Token of each query; 0 at padding."""
    keys: Tensor
    """Token of each key; 0 at padding."""
    places: Tensor
    """(T,) place of each token among the queries."""


def token_order(batches: Sequence[AttentionBatch], device: torch.device) -> TokenOrder:
    """Return the tokens of the batches on a device."""
    queries = torch.cat([batch.queries.flatten() for batch in batches])
    keys = torch.cat([batch.keys.flatten() for batch in batches])
    places = torch.empty(int(queries.max()) + 1, dtype=torch.int64)
    real = queries != _PADDING
    places[queries[real]] = real.nonzero().squeeze(1)
    return TokenOrder(*(copy_to(tensor, device) for tensor in (queries.clamp_min(0), keys.clamp_min(0), places)))


class Visibility:
    """Keys that each query sees: those of the blocks on its path, and in causal attention only earlier positions.

    Args:
        lengths: Number of tokens of each block.
        paths: See `attention_batches`.
        causal: True if a token sees its own and earlier positions only.
    """

    def __init__(self, lengths: Sequence[int], paths: Sequence[Sequence[int]], causal: bool) -> None:
        self.causal = causal
        num_blocks = len(lengths)
        # The last entry is that of padding, which nothing sees.
        self._block = torch.arange(num_blocks + 1).repeat_interleave(torch.tensor([*lengths, 1]))
        self._on_path = torch.zeros(num_blocks + 1, num_blocks + 1, dtype=torch.bool)
        for block, path in enumerate(paths):
            self._on_path[block, list(path)] = True
        starts = [sum(lengths[block] for block in path[:-1]) for path in paths]
        positions = (torch.arange(start, start + size) for start, size in zip(starts, lengths, strict=True))
        self._position = torch.cat([*positions, torch.zeros(1, dtype=torch.int64)])

    def hidden(self, batch: AttentionBatch, window: int | None) -> Tensor:
        """Return the (R, 1, L, K) keys that each query does not see.

        Args:
            batch: Queries and keys.
            window: Number of positions along the path that a query sees, its own included; None for all.
        """
        query_block, key_block = self._block[batch.queries], self._block[batch.keys]
        visible = self._on_path[query_block[:, :, None], key_block[:, None, :]]
        if self.causal:
            distance = self._position[batch.queries][:, :, None] - self._position[batch.keys][:, None, :]
            visible &= distance >= 0
            if window is not None:
                visible &= distance < window
        return ~visible.unsqueeze(1)
