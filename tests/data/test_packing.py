"""Tests of packing: unpacking, positions and packed sizes."""

from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.data.packing import Packing, pack, pack_paths, paths_of, to_rows, unpack
from radreward.types import TokenPath

piece = st.lists(st.integers(0, 9), min_size=1, max_size=4)
paths = st.lists(st.tuples(piece, piece, piece) | st.tuples(piece, piece), min_size=1, max_size=6).map(
    lambda sampled: [list(path) for path in sampled]
)
segment = piece.map(tuple)
token_paths = st.lists(
    st.tuples(
        st.lists(segment, max_size=2).map(tuple),
        st.lists(st.tuples(segment, st.booleans()), min_size=1, max_size=4),
    ).map(
        lambda drawn: TokenPath(
            drawn[0],
            tuple(own for own, _ in drawn[1]),
            tuple(flag for _, flag in drawn[1]) if any(flag for _, flag in drawn[1]) else (),
        )
    ),
    min_size=1,
    max_size=5,
)
packings = st.sampled_from(get_args(Packing))


@given(paths, packings)
def test_unpack_inverts_pack(given_paths: list[list[list[int]]], packing: Packing) -> None:
    packed = pack(given_paths, packing)
    assert [path.segments for path in unpack(packed)] == given_paths
    assert [path.segments for path in unpack(to_rows(packed))] == given_paths


@given(token_paths, packings)
def test_unpack_inverts_pack_paths_of_statements(given_paths: list[TokenPath], packing: Packing) -> None:
    packed = pack_paths(given_paths, packing)
    assert unpack(packed) == given_paths
    assert unpack(to_rows(packed)) == given_paths


@given(token_paths, packings)
def test_statements_start_after_the_shared_segments(given_paths: list[TokenPath], packing: Packing) -> None:
    packed = pack_paths(given_paths, packing)
    positions = torch.split(packed.position_ids, list(packed.node_lengths))
    for own, path in zip(packed.candidate_nodes, given_paths, strict=True):
        start = sum(map(len, path.shared))
        assert [positions[node].tolist() for node in own if node >= 0] == [
            list(range(start, start + len(statement))) for statement in path.own
        ]


def test_equal_statements_of_a_reference_are_one_node_in_trees_only() -> None:
    paths = [TokenPath(((7, 8),), ((1,), (2, 3))), TokenPath(((7, 8),), ((2, 3), (4,))), TokenPath(((9,),), ((1,),))]
    assert pack_paths(paths, "tree").candidate_nodes == ((1, 2), (2, 3), (5,))
    assert len(pack_paths(paths, "rows").node_lengths) == 3 + 5


def test_leaf_nodes_several_statements_raise() -> None:
    packed = pack_paths([TokenPath(((7,),), ((1,), (2,)))])
    with pytest.raises(ValueError, match="does not separate statements"):
        _ = packed.leaf_nodes


@given(paths, packings)
def test_positions_count_the_tokens_of_the_path(given_paths: list[list[list[int]]], packing: Packing) -> None:
    packed = pack(given_paths, packing)
    positions = torch.split(packed.position_ids, list(packed.node_lengths))
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
    assert all(parent < node for node, parent in enumerate(tree.parent_ids))


def test_pack_empty_segment_raises() -> None:
    with pytest.raises(ValueError, match="not empty"):
        pack([[[1], []]], "tree")
