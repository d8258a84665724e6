"""Packing: what candidates share is held once, as a tree of nodes in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from radreward.types import PackedBatch

Packing = Literal["tree", "rows", "batch"]
"""rows: a row per candidate. tree: a row per reference. batch: a row for all that share an instruction."""
NO_NODE = -2


class PackNode(NamedTuple):
    """A piece of a row: its tokens, and the node it continues (-1 for a root)."""

    tokens: Sequence[int]
    parent: int


class PackRow(NamedTuple):
    """Nodes, parents before children, and which of them end a candidate (node, candidate)."""

    nodes: list[PackNode]
    candidate_nodes: list[tuple[int, int]]


def pack(paths: Sequence[Sequence[Sequence[int]]], packing: Packing, pad: int = 0) -> PackedBatch:
    """Token paths to rows.

    Args:
        paths: Per candidate, its pieces from the root to its own; each piece is token ids.
        packing: What shares a row.
        pad: The id of padding tokens; never read, since padding belongs to no node.

    Returns:
        The batch; `leaves` are in the order of `paths`.

    Raises:
        ValueError: If there is no path, or a piece is empty.

    >>> packed = pack([[[7, 8], [1]], [[7, 8], [2, 3]]], "tree")
    >>> packed.input_ids.tolist(), packed.position_ids.tolist(), packed.nodes.tolist()
    ([[7, 8, 1, 2, 3]], [[0, 1, 2, 2, 3]], [[0, 0, 1, 2, 2]])
    >>> packed.parents.tolist(), packed.leaves.tolist()
    ([[-1, 0, 0]], [[0, 1], [0, 2]])
    """
    if not paths or any(not path or not all(path) for path in paths):
        raise ValueError("Expected at least one path, of pieces that are not empty.")
    return _to_tensors([_build_row(paths, members) for members in _assign_rows(paths, packing)], len(paths), pad)


def _assign_rows(paths: Sequence[Sequence[Sequence[int]]], packing: Packing) -> Iterator[list[int]]:
    """Which candidates share a row, in order of first appearance."""
    shared: dict[object, list[int]] = {}
    for index, path in enumerate(paths):
        keys = {
            "rows": index,
            "tree": tuple(map(tuple, path[:-1])),
            "batch": tuple(path[0]) if len(path) > 2 else index,
        }
        if packing == "batch" and len(path) <= 2:
            keys["batch"] = tuple(map(tuple, path[:-1]))  # no instruction to share: a row per reference
        shared.setdefault(keys[packing], []).append(index)
    yield from shared.values()


def _build_row(paths: Sequence[Sequence[Sequence[int]]], members: list[int]) -> PackRow:
    nodes: list[PackNode] = []
    known: dict[tuple[int, tuple[int, ...]], int] = {}
    leaves = []
    for member in members:
        parent = -1
        for piece in paths[member][:-1]:
            key = (parent, tuple(piece))
            if key not in known:
                known[key] = len(nodes)
                nodes.append(PackNode(piece, parent))
            parent = known[key]
        nodes.append(PackNode(paths[member][-1], parent))  # never shared: equal candidates stay two
        leaves.append((len(nodes) - 1, member))
    return PackRow(nodes, leaves)


def _to_tensors(rows: list[PackRow], num_candidates: int, pad: int) -> PackedBatch:
    length = max(sum(len(node.tokens) for node in row.nodes) for row in rows)
    width = max(len(row.nodes) for row in rows)
    input_ids = torch.full((len(rows), length), pad)
    position_ids = torch.zeros(len(rows), length, dtype=torch.int64)
    nodes = torch.full((len(rows), length), -1)
    parents = torch.full((len(rows), width), NO_NODE)
    leaves = torch.empty(num_candidates, 2, dtype=torch.int64)
    for r, row in enumerate(rows):
        ends: list[int] = []  # position after the last token of each node
        column = 0
        for n, node in enumerate(row.nodes):
            begin = ends[node.parent] if node.parent >= 0 else 0
            ends.append(begin + len(node.tokens))
            span = slice(column, column := column + len(node.tokens))
            input_ids[r, span] = torch.tensor(node.tokens)
            position_ids[r, span] = torch.arange(begin, ends[n])
            nodes[r, span] = n
            parents[r, n] = node.parent
        for leaf, candidate in row.candidate_nodes:
            leaves[candidate] = torch.tensor((r, leaf))
    return PackedBatch(input_ids, position_ids, nodes, parents, leaves)


def unpack(packed: PackedBatch) -> list[list[list[int]]]:
    """The token paths of a batch, in the order of its candidates: the inverse of `pack`."""
    paths = []
    for row, leaf in packed.candidate_nodes.tolist():
        path, node = [], leaf
        while node >= 0:
            path.append(packed.input_ids[row, packed.node_ids[row] == node].tolist())
            node = int(packed.parent_ids[row, node])
        paths.append(path[::-1])
    return paths


def to_rows(packed: PackedBatch) -> PackedBatch:
    """The same candidates, each in a row of its own: what the packed form must agree with."""
    return pack(unpack(packed), "rows")


def ancestor_mask(parent_ids: Tensor) -> Tensor:
    """Which nodes are seen from a node: itself and its ancestors.

    Args:
        parents: (R, M) as in `PackedBatch`.

    Returns:
        (R, M, M) bool: [r, q, k] whether a token of node q may see a token of node k.
    """
    rows, width = parent_ids.shape
    seen = torch.eye(width, dtype=torch.bool, device=parent_ids.device).repeat(rows, 1, 1)
    exists = (parent_ids >= 0).unsqueeze(-1)
    index = parent_ids.clamp_min(0).unsqueeze(-1).expand(rows, width, width)
    for _ in range(2):  # a path has three pieces at most: two steps reach the root
        seen = seen | (torch.gather(seen, 1, index) & exists)
    return seen


def attention_mask(packed: PackedBatch, causal: bool, window: int | None = None) -> Tensor:
    """Which token sees which.

    Args:
        packed: The rows.
        causal: Whether a token sees only tokens at its own position or before.
        window: Sliding window: how many positions back a token sees, itself counted. Taken from positions, since
            columns of a row are not distances.

    Returns:
        (R, L, L) bool: [r, q, k]. A padding token sees itself alone, so that no row of the mask is empty.
    """
    nodes = packed.node_ids
    rows, length = nodes.shape
    index = nodes.clamp_min(0)
    seen = ancestor_mask(packed.parent_ids)
    query = torch.gather(seen, 1, index.unsqueeze(-1).expand(rows, length, seen.shape[-1]))  # (R, L, M)
    allowed = torch.gather(query, 2, index.unsqueeze(1).expand(rows, length, length))
    allowed = allowed & (nodes >= 0).unsqueeze(1) & (nodes >= 0).unsqueeze(2)
    distance = packed.position_ids.unsqueeze(2) - packed.position_ids.unsqueeze(1)
    if causal:
        allowed = allowed & (distance >= 0)
    if window is not None:
        allowed = allowed & (distance < window) & (distance > -window)
    return allowed | torch.eye(length, dtype=torch.bool, device=nodes.device)
