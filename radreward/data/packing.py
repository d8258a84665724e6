"""Packing: tokens that candidates share are encoded once, as a tree of nodes per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from radreward.types import PackedBatch

Packing = Literal["tree", "rows", "batch"]
"""rows: one row per candidate. tree: one row per reference. batch: one row per instruction."""
NO_NODE = -2
"""Parent of an unused entry in `PackedBatch.parent_ids`."""


class PackNode(NamedTuple):
    """A segment of a row: its tokens, and its parent node (-1 for a root)."""

    tokens: Sequence[int]
    parent: int


class PackRow(NamedTuple):
    """Nodes, parents before children, and the last node of each candidate as (node, candidate)."""

    nodes: list[PackNode]
    candidate_nodes: list[tuple[int, int]]


def pack(paths: Sequence[Sequence[Sequence[int]]], packing: Packing, pad: int = 0) -> PackedBatch:
    """Return rows for token paths.

    Args:
        paths: Per candidate, the token ids of its segments from the root to its own.
        packing: Candidates that share a row.
        pad: Id of padding tokens; never read, since padding belongs to no node.

    Returns:
        The batch; `candidate_nodes` are in the order of `paths`.

    Raises:
        ValueError: If there is no path, or a segment is empty.

    >>> packed = pack([[[7, 8], [1]], [[7, 8], [2, 3]]], "tree")
    >>> packed.input_ids.tolist(), packed.position_ids.tolist(), packed.node_ids.tolist()
    ([[7, 8, 1, 2, 3]], [[0, 1, 2, 2, 3]], [[0, 0, 1, 2, 2]])
    >>> packed.parent_ids.tolist(), packed.candidate_nodes.tolist()
    ([[-1, 0, 0]], [[0, 1], [0, 2]])
    """
    if not paths or any(not path or not all(path) for path in paths):
        raise ValueError("Expected at least one path, of segments that are not empty.")
    return _to_tensors([_build_row(paths, members) for members in _assign_rows(paths, packing)], len(paths), pad)


def _assign_rows(paths: Sequence[Sequence[Sequence[int]]], packing: Packing) -> Iterator[list[int]]:
    """Yield the indices of the candidates of each row, in order of first appearance."""
    shared: dict[object, list[int]] = {}
    for index, path in enumerate(paths):
        keys = {
            "rows": index,
            "tree": tuple(map(tuple, path[:-1])),
            "batch": tuple(path[0]) if len(path) > 2 else index,
        }
        if packing == "batch" and len(path) <= 2:
            keys["batch"] = tuple(map(tuple, path[:-1]))  # no instruction to share: one row per reference
        shared.setdefault(keys[packing], []).append(index)
    yield from shared.values()


def _build_row(paths: Sequence[Sequence[Sequence[int]]], members: list[int]) -> PackRow:
    nodes: list[PackNode] = []
    shared: dict[tuple[int, tuple[int, ...]], int] = {}
    candidate_nodes = []
    for member in members:
        parent = -1
        for segment in paths[member][:-1]:
            key = (parent, tuple(segment))
            if key not in shared:
                shared[key] = len(nodes)
                nodes.append(PackNode(segment, parent))
            parent = shared[key]
        nodes.append(PackNode(paths[member][-1], parent))  # never shared: equal candidates stay separate
        candidate_nodes.append((len(nodes) - 1, member))
    return PackRow(nodes, candidate_nodes)


def _to_tensors(rows: list[PackRow], num_candidates: int, pad: int) -> PackedBatch:
    length = max(sum(len(node.tokens) for node in row.nodes) for row in rows)
    width = max(len(row.nodes) for row in rows)
    input_ids = torch.full((len(rows), length), pad)
    position_ids = torch.zeros(len(rows), length, dtype=torch.int64)
    node_ids = torch.full((len(rows), length), -1)
    parent_ids = torch.full((len(rows), width), NO_NODE)
    candidate_nodes = torch.empty(num_candidates, 2, dtype=torch.int64)
    for r, row in enumerate(rows):
        ends: list[int] = []  # position after the last token of each node
        column = 0
        for n, node in enumerate(row.nodes):
            start = ends[node.parent] if node.parent >= 0 else 0
            ends.append(start + len(node.tokens))
            span = slice(column, column := column + len(node.tokens))
            input_ids[r, span] = torch.tensor(node.tokens)
            position_ids[r, span] = torch.arange(start, ends[n])
            node_ids[r, span] = n
            parent_ids[r, n] = node.parent
        for end, candidate in row.candidate_nodes:
            candidate_nodes[candidate] = torch.tensor((r, end))
    return PackedBatch(input_ids, position_ids, node_ids, parent_ids, candidate_nodes)


def unpack(packed: PackedBatch) -> list[list[list[int]]]:
    """Return the token paths of a batch in the order of its candidates: the inverse of `pack`."""
    paths = []
    for row, end in packed.candidate_nodes.tolist():
        path, node = [], end
        while node >= 0:
            path.append(packed.input_ids[row, packed.node_ids[row] == node].tolist())
            node = int(packed.parent_ids[row, node])
        paths.append(path[::-1])
    return paths


def to_rows(packed: PackedBatch) -> PackedBatch:
    """Return the same candidates with one row each, to check the packed form against."""
    return pack(unpack(packed), "rows")


def ancestor_mask(parent_ids: Tensor) -> Tensor:
    """Return the nodes that each node attends to: itself and its ancestors.

    Args:
        parent_ids: (R, M) as in `PackedBatch`.

    Returns:
        (R, M, M) bool: [r, q, k] is True if tokens of node q attend to those of node k.
    """
    rows, width = parent_ids.shape
    seen = torch.eye(width, dtype=torch.bool, device=parent_ids.device).repeat(rows, 1, 1)
    exists = (parent_ids >= 0).unsqueeze(-1)
    index = parent_ids.clamp_min(0).unsqueeze(-1).expand(rows, width, width)
    for _ in range(2):  # a path has at most three segments: two steps reach the root
        seen = seen | (torch.gather(seen, 1, index) & exists)
    return seen


def attention_mask(packed: PackedBatch, causal: bool, window: int | None = None) -> Tensor:
    """Return the attention mask of packed rows.

    Args:
        packed: The rows.
        causal: True if a token attends only to its own and earlier positions.
        window: Size of a sliding window in positions, the token's own included; columns of a row are no distances.

    Returns:
        (R, L, L) bool: [r, q, k]. A padding token attends to itself alone, so that no row of the mask is empty.
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
