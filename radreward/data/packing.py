"""Packing: tokens that candidates share are encoded once, as nodes of trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, islice
from typing import Literal, get_args

import torch
from torch import Tensor

from radreward.errors import check_choice
from radreward.types import PackedBatch, TokenPath

Packing = Literal["tree", "rows"]
"""tree: candidates share instruction and reference. rows: each candidate has its own."""


def pack(paths: Sequence[Sequence[Sequence[int]]], packing: Packing = "tree") -> PackedBatch:
    """Return the nodes of token paths of candidates with one own segment, see `pack_paths`.

    Args:
        paths: Per candidate, the token ids of its segments from the root to its own.
        packing: Candidates that share nodes.

    Raises:
        ValueError: If there is no path, or a segment is empty.

    >>> packed = pack([[[7, 8], [1]], [[7, 8], [2, 3]]])
    >>> packed.input_ids.tolist(), packed.position_ids.tolist()
    ([7, 8, 1, 2, 3], [0, 1, 2, 2, 3])
    >>> packed.node_lengths, packed.parent_ids, packed.candidate_nodes
    ((2, 1, 2), (-1, 0, 0), ((1,), (2,)))
    """
    return pack_paths(
        [TokenPath(tuple(map(tuple, path[:-1])), tuple(map(tuple, path[-1:]))) for path in paths], packing
    )


def pack_paths(paths: Sequence[TokenPath], packing: Packing = "tree") -> PackedBatch:
    """Return the nodes of token paths.

    Equal shared segments after equal ones are one node, and so are equal statements of several candidates. The only own
    segment of a candidate is never shared.

    Args:
        paths: One per candidate.
        packing: Candidates that share nodes.

    Raises:
        ValueError: If there is no path, or a segment is empty.

    >>> packed = pack_paths([TokenPath(((7, 8),), ((1,), (2, 3))), TokenPath(((7, 8),), ((2, 3),))])
    >>> packed.input_ids.tolist(), packed.position_ids.tolist(), packed.candidate_nodes
    ([7, 8, 1, 2, 3], [0, 1, 2, 2, 3], ((1, 2), (2,)))
    """
    check_choice("packing", packing, get_args(Packing))
    if not paths or any(not path.own or not all((*path.shared, *path.own)) for path in paths):
        raise ValueError("Expected at least one path, of segments that are not empty.")
    segments: list[Sequence[int]] = []
    parents: list[int] = []
    nodes: dict[object, int] = {}
    separates_statements = any(len(path.own) > 1 for path in paths)

    def add(parent: int, segment: Sequence[int], owner: int | None) -> int:
        node = nodes.setdefault((parent, segment, owner), len(segments))
        if node == len(segments):
            segments.append(segment)
            parents.append(parent)
        return node

    candidate_nodes = []
    for index, path in enumerate(paths):
        parent, row = -1, index if packing == "rows" else None
        for segment in path.shared:
            parent = add(parent, segment, row)
        owner = row if separates_statements else index
        candidate_nodes.append(tuple(add(parent, segment, owner) for segment in path.own))
    return PackedBatch(
        torch.tensor(list(chain.from_iterable(segments))),
        torch.cat(_positions(segments, parents)),
        tuple(len(segment) for segment in segments),
        tuple(parents),
        tuple(candidate_nodes),
        tuple(path.unrelated or (False,) * len(path.own) for path in paths),
    )


def _positions(segments: Sequence[Sequence[int]], parents: Sequence[int]) -> list[Tensor]:
    """Return the positions of each node's tokens, which continue those of its parent."""
    positions: list[Tensor] = []
    for segment, parent in zip(segments, parents, strict=True):
        start = int(positions[parent][-1]) + 1 if parent >= 0 else 0
        positions.append(torch.arange(start, start + len(segment)))
    return positions


def node_starts(packed: PackedBatch) -> list[int]:
    """Return the (M,) index of the first token of each node."""
    return list(accumulate(packed.node_lengths[:-1], initial=0))


def paths_of(packed: PackedBatch) -> list[list[int]]:
    """Return the nodes of the path of each candidate with one node, from the root.

    >>> paths_of(pack([[[7, 8], [1]], [[7, 8], [2, 3]]]))
    [[0, 1], [0, 2]]
    """
    return [_path_to(node, packed.parent_ids) for node in packed.leaf_nodes]


def _path_to(node: int, parents: Sequence[int]) -> list[int]:
    """Return the ancestors of a node from the root, and the node."""
    path = []
    while node >= 0:
        path.append(node)
        node = parents[node]
    return path[::-1]


def unpack(packed: PackedBatch) -> list[TokenPath]:
    """Return the token paths of a batch in the order of its candidates: the inverse of `pack_paths`."""
    tokens, parents = iter(packed.input_ids.tolist()), packed.parent_ids
    segments = [tuple(islice(tokens, length)) for length in packed.node_lengths]
    return [
        TokenPath(
            tuple(segments[node] for node in _path_to(parents[own[0]], parents)),
            tuple(segments[node] for node in own),
            unrelated if any(unrelated) else (),
        )
        for own, unrelated in zip(packed.candidate_nodes, packed.unrelated, strict=True)
    ]


def to_rows(packed: PackedBatch) -> PackedBatch:
    """Return the same candidates on the same device, each with its own nodes, for the packing check."""
    return pack_paths(unpack(packed), "rows").to(packed.input_ids.device)
