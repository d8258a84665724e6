"""Tests of packing: unpacking, attention masks and packed sizes."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.data.packing import Packing, attention_mask, pack, to_rows, unpack

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
def test_attention_mask_allows_exactly_the_path(given_paths: list[list[list[int]]], packing: Packing) -> None:
    packed = pack(given_paths, packing)
    allowed = attention_mask(packed, causal=True)
    for (row, leaf), path in zip(packed.candidate_nodes.tolist(), given_paths, strict=True):
        column = int((packed.node_ids[row] == leaf).nonzero()[-1])
        visible = allowed[row, column].nonzero().flatten()
        assert packed.input_ids[row, visible].tolist() == sum(path, [])
        assert packed.position_ids[row, visible].tolist() == list(range(len(sum(path, []))))


@given(paths)
def test_tree_packing_is_never_larger_than_rows(given_paths: list[list[list[int]]]) -> None:
    sizes = {form: int((pack(given_paths, form).node_ids >= 0).sum()) for form in get_args(Packing)}
    assert sizes["batch"] <= sizes["tree"] <= sizes["rows"] == sum(len(p) for path in given_paths for p in path)


def test_attention_mask_window_counts_positions() -> None:
    packed = pack([[[1, 2], [3, 4]], [[1, 2], [5]]], "tree")
    last = attention_mask(packed, causal=True, window=2)[0, 4]
    assert last.tolist() == [False, True, False, False, True]


def test_pack_empty_segment_raises() -> None:
    with pytest.raises(ValueError, match="not empty"):
        pack([[[1], []]], "tree")
