"""Packing: tokens that candidates share are encoded once, as nodes of trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Literal

import torch
from torch import Tensor

from radreward.types import PackedBatch

Packing = Literal["tree", "rows"]
"""tree: candidates share instruction and reference. rows: each candidate has its own."""


def pack(paths: Sequence[Sequence[Sequence[int]]], packing: Packing = "tree") -> PackedBatch:
    """Return the nodes of token paths.

    Args:
        paths: Per candidate, the token ids of its segments from the root to its own. Equal segments after equal ones
            are one node; a candidate's own segment is never shared.
        packing: Candidates that share nodes.

    Raises:
        ValueError: If there is no path, or a segment is empty.

    >>> packed = pack([[[7, 8], [1]], [[7, 8], [2, 3]]])
    >>> packed.input_ids.tolist(), packed.position_ids.tolist()
    ([7, 8, 1, 2, 3], [0, 1, 2, 2, 3])
    >>> packed.node_lengths.tolist(), packed.parent_ids.tolist(), packed.candidate_nodes.tolist()
    ([2, 1, 2], [-1, 0, 0], [1, 2])
    """
    if not paths or any(not path or not all(path) for path in paths):
        raise ValueError("Expected at least one path, of segments that are not empty.")
    segments: list[Sequence[int]] = []
    parents: list[int] = []
    shared: dict[object, int] = {}
    candidate_nodes = []
    for index, path in enumerate(paths):
        parent = -1
        for depth, segment in enumerate(path):
            own = index if packing == "rows" or depth == len(path) - 1 else None
            node = shared.setdefault((parent, tuple(segment), own), len(segments))
            if node == len(segments):
                segments.append(segment)
                parents.append(parent)
            parent = node
        candidate_nodes.append(parent)
    return PackedBatch(
        torch.tensor(list(chain.from_iterable(segments))),
        torch.cat(_positions(segments, parents)),
        torch.tensor([len(segment) for segment in segments]),
        torch.tensor(parents),
        torch.tensor(candidate_nodes),
    )


def _positions(segments: Sequence[Sequence[int]], parents: Sequence[int]) -> list[Tensor]:
    """Return the positions of each node's tokens, which continue those of its parent."""
    positions: list[Tensor] = []
    for segment, parent in zip(segments, parents, strict=True):
        start = int(positions[parent][-1]) + 1 if parent >= 0 else 0
        positions.append(torch.arange(start, start + len(segment)))
    return positions


def node_starts(packed: PackedBatch) -> Tensor:
    """Return the (M,) index of the first token of each node."""
    return packed.node_lengths.cumsum(0) - packed.node_lengths


def paths_of(packed: PackedBatch) -> list[list[int]]:
    """Return the nodes of each candidate's path from the root.

    >>> paths_of(pack([[[7, 8], [1]], [[7, 8], [2, 3]]]))
    [[0, 1], [0, 2]]
    """
    parents, paths = packed.parent_ids.tolist(), []
    for node in packed.candidate_nodes.tolist():
        path = []
        while node >= 0:
            path.append(node)
            node = parents[node]
        paths.append(path[::-1])
    return paths


def unpack(packed: PackedBatch) -> list[list[list[int]]]:
    """Return the token paths of a batch in the order of its candidates: the inverse of `pack`."""
    segments = [segment.tolist() for segment in torch.split(packed.input_ids, packed.node_lengths.tolist())]
    return [[segments[node] for node in path] for path in paths_of(packed)]


def to_rows(packed: PackedBatch) -> PackedBatch:
    """Return the same candidates on the same device, each with its own nodes, for the packing check."""
    return to_device(pack(unpack(packed), "rows"), packed.input_ids.device)


def to_device(packed: PackedBatch, device: torch.device) -> PackedBatch:
    """Return a batch on a device."""
    return PackedBatch(*(tensor.to(device) for tensor in packed))
