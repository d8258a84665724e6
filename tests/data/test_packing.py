"""Tests of packing: unpacking, positions and packed sizes."""

from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.data.packing import Packing, pack, paths_of, to_rows, unpack

piece = st.lists(st.integers(0, 9), min_size=1, max_size=4)
paths = st.lists(st.tuples(piece, piece, piece) | st.tuples(piece, piece), min_size=1, max_size=6).map(
    lambda sampled: [list(path) for path in sampled]
)
packings = st.sampled_from(get_args(Packing))


@given(paths, packings)
def test_unpack_inverts_pack(given_paths: list[list[list[int]]], packing: Packing) -> None:
    assert unpack(pack(given_paths, packing)) == given_paths
    assert unpack(to_rows(pack(given_paths, packing))) == given_paths


@given(paths, packings)
def test_positions_count_the_tokens_of_the_path(given_paths: list[list[list[int]]], packing: Packing) -> None:
    packed = pack(given_paths, packing)
    positions = torch.split(packed.position_ids, packed.node_lengths.tolist())
    for nodes, path in zip(paths_of(packed), given_paths, strict=True):
        assert [int(p) for node in nodes for p in positions[node]] == list(range(sum(map(len, path))))


@given(paths)
def test_tree_packing_encodes_each_shared_prefix_once(given_paths: list[list[list[int]]]) -> None:
    tree, rows = pack(given_paths, "tree"), pack(given_paths, "rows")
    prefixes = {str(path[:depth]): path[depth - 1] for path in given_paths for depth in range(1, len(path))}
    own = [path[-1] for path in given_paths]
    assert len(tree.input_ids) == sum(map(len, [*prefixes.values(), *own]))
    assert len(rows.input_ids) == sum(len(segment) for path in given_paths for segment in path)
    assert len(rows.node_lengths) == sum(map(len, given_paths))
    assert all(parent < node for node, parent in enumerate(tree.parent_ids.tolist()))


def test_pack_empty_segment_raises() -> None:
    with pytest.raises(ValueError, match="not empty"):
        pack([[[1], []]], "tree")
