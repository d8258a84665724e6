"""Attention node by node equals naive loops."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from radreward.criteria import RadCliQCriteria
from radreward.data.packing import pack
from radreward.models import Backbone, PooledRewardModel, RewardModelArtifact
from radreward.models.node_attention import NodeLayout, attention, node_attention
from radreward.prompts import PlainPairTemplate
from radreward.systems.er2score.prompt import InstructionTemplate
from radreward.systems.er2score.scorer import RewardModelScorer
from tests.models.visible_tokens import visible_tokens

PIECE = st.lists(st.integers(4, 99), min_size=1, max_size=6)
ANY_PATHS = st.lists(st.lists(PIECE, min_size=1, max_size=3), min_size=1, max_size=5)


def _naive(query: Tensor, key: Tensor, value: Tensor, visible: Tensor, softcap: float | None) -> Tensor:
    """Return (1, T, H, D) attention by one dense product per head."""
    heads, shared, scale = query.shape[1], query.shape[1] // key.shape[1], query.shape[-1] ** -0.5
    parts = []
    for head in range(heads):
        scores = query[0, head] @ key[0, head // shared].T * scale
        scores = scores if softcap is None else softcap * torch.tanh(scores / softcap)
        parts.append(scores.masked_fill(~visible, -math.inf).softmax(-1) @ value[0, head // shared])
    return torch.stack(parts, 1).unsqueeze(0)


@pytest.mark.parametrize("softcap", [None, 2.0])
@settings(max_examples=15)
@given(
    paths=ANY_PATHS,
    repeat=st.sampled_from([1, 13]),  # 13: rows are full, and some nodes are longer than a row
    packing=st.sampled_from(["tree", "rows"]),
    causal=st.booleans(),
    window=st.integers(1, 9),
)
def test_node_attention_equals_dense_products(
    paths: list[list[list[int]]], repeat: int, packing: Any, causal: bool, window: int, softcap: float | None
) -> None:
    packed = pack([[piece * repeat for piece in path] for path in paths], packing)
    size = window * repeat if causal and window < 8 else None
    layout = NodeLayout.from_packed(packed, causal)
    torch.manual_seed(0)
    shapes = ((1, heads, len(packed.input_ids), 3) for heads in (4, 2, 2))
    query, key, value = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    actual = node_attention(query, key, value, layout, window=size, softcap=softcap)
    expected = _naive(query, key, value, visible_tokens(packed, causal, size), softcap)
    torch.testing.assert_close(actual, expected)
    weights = torch.randn_like(expected)
    gradients = (torch.autograd.grad((output * weights).sum(), (query, key, value)) for output in (actual, expected))
    for own, other in zip(*gradients, strict=True):
        torch.testing.assert_close(own, other)


def test_bfloat16_products_with_gradients_equal_the_fused_kernel() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, heads, 7, 8).bfloat16() for heads in (4, 2, 2))
    mask = torch.zeros(7, 7).masked_fill_(torch.ones(7, 7).bool().triu(1), -1e9).bfloat16()
    for options in ({"is_causal": True}, {"mask": mask}, {"mask": mask == 0}, {}):
        fused = attention(query, key, value, **options)
        plain = attention(query.requires_grad_(), key, value, **options)
        torch.testing.assert_close(plain.detach(), fused, rtol=0.02, atol=0.02)
        query.requires_grad_(False)


def test_causal_chains_are_sequences() -> None:
    layout = NodeLayout.from_packed(pack([[[7, 8], [1], [3]], [[9], [5]], [[9], [4]]], "tree"), causal=True)
    assert layout.lengths == [4, 1, 1, 1]
    assert layout.paths == [(0,), (1,), (1, 2), (1, 3)]
    # The two roots and the two statements of the second root share a row each.
    rows = [row[row >= 0].tolist() for batch in layout.batches for row in batch.queries]
    assert rows == [[0, 1, 2, 3, 4], [5, 6]]
    assert not any(layout.is_sequence(batch, None) for batch in layout.batches)


def test_a_root_alone_is_a_sequence_within_its_window() -> None:
    layout = NodeLayout([70, 3], [-1, 0], causal=True)
    root, own = NodeLayout([70, 3, 4], [-1, 0, 0], causal=True).batches
    assert layout.lengths == [73]
    assert layout.is_sequence(root, None)
    assert not layout.is_sequence(root, 70)  # padded to 96
    assert not layout.is_sequence(own, None)
    assert not NodeLayout([70], [-1], causal=False).is_sequence(root, None)


def test_masks_are_computed_once_per_batch() -> None:
    layout = NodeLayout([2, 3, 3], [-1, 0, 0], causal=True)
    like = torch.zeros(1)
    assert layout.mask(1, None, like) is layout.mask(1, None, like)
    assert layout.mask(1, 2, like) is not layout.mask(1, None, like)


def test_full_rows_have_no_mask() -> None:
    layout = NodeLayout([64, 64], [-1, 0], causal=False)
    assert [layout.mask(index, None, torch.zeros(1)) for index in (0, 1)] == [None, None]


@pytest.mark.parametrize("backbone", ["tiny-bert", "tiny-llama"])
def test_scorer_rewards_equal_those_of_the_model(backbone: str) -> None:
    torch.manual_seed(0)
    template = PlainPairTemplate() if backbone == "tiny-bert" else InstructionTemplate()
    saved = RewardModelArtifact(PooledRewardModel(Backbone(backbone), RadCliQCriteria()).eval(), template, 4000)
    scorer = RewardModelScorer(saved)
    prompts = [("clear lungs", "no effusion"), ("clear lungs", "a large effusion on the left"), ("heart", "size")]
    paths = [scorer._prompt_encoder.token_segments(*pair) for pair in prompts]
    with torch.inference_mode():
        expected = saved.model(pack(paths, "rows")).rewards
    scores = scorer.score(*zip(*prompts, strict=True))
    assert scores.sub_scores is not None
    torch.testing.assert_close(scores.sub_scores, expected, rtol=1e-4, atol=1e-4)  # rounded to four decimals
    with torch.inference_mode():  # the model itself is unchanged
        assert torch.equal(saved.model(pack(paths, "rows")).rewards, expected)
