"""Attention node by node equals plain sequences and naive loops, for every supported architecture."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import AutoConfig, AutoModel, PreTrainedModel

from radreward.criteria import RadCliQCriteria
from radreward.data.packing import pack, unpack
from radreward.models import Backbone, PooledRewardModel, RewardModelArtifact
from radreward.models.attention import (
    DECODER_TYPES,
    ENCODER_TYPES,
    enable_node_attention,
    packed_inputs,
    position_offset,
)
from radreward.models.node_attention import NodeLayout, attention, node_attention
from radreward.prompts import PlainPairTemplate
from radreward.systems.er2score.prompt import InstructionTemplate
from radreward.systems.er2score.scorer import RewardModelScorer
from radreward.types import PackedBatch

SIZES: dict[str, Any] = {
    **{"vocab_size": 100, "hidden_size": 32, "embedding_size": 32, "intermediate_size": 64, "ffn_dim": 64},
    **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8},
    **{"max_position_embeddings": 64, "word_embed_proj_dim": 32, "pad_token_id": 1, "sliding_window": 6},
    **{"bos_token_id": 2, "eos_token_id": 3, "attention_dropout": 0.0, "query_pre_attn_scalar": 8},
}
PATHS = [
    [[2, 9, 9], [3, 4, 5, 6, 7], [10]],
    [[2, 9, 9], [8, 9], [11, 12, 13]],
    [[2, 9, 9], [3, 4, 5, 6, 7], [14] * 9],
    [[50, 51], [52]],
    [[60]],
]
PIECE = st.lists(st.integers(4, 99), min_size=1, max_size=6)
ANY_PATHS = st.lists(st.lists(PIECE, min_size=1, max_size=3), min_size=1, max_size=5)


def _model(kind: str) -> PreTrainedModel:
    torch.manual_seed(0)
    known = AutoConfig.for_model(kind)
    config = AutoConfig.for_model(kind, **{key: value for key, value in SIZES.items() if hasattr(known, key)})
    model: PreTrainedModel = AutoModel.from_config(config)
    model.eval()
    return model


def _visible(packed: PackedBatch, causal: bool, window: int | None = None) -> Tensor:
    """Return (T, T) bool: the tokens that each token attends to, by a loop."""
    lengths, parents, positions = (part.tolist() for part in (*packed[2:4], packed.position_ids))
    node_of = [node for node, length in enumerate(lengths) for _ in range(length)]

    def sees(query: int, key: int) -> bool:
        node, distance = node_of[query], positions[query] - positions[key]
        while node != node_of[key] and node >= 0:
            node = parents[node]
        return node >= 0 and (not causal or distance >= 0) and (window is None or distance < window)

    tokens = range(len(node_of))
    return torch.tensor([[sees(query, key) for key in tokens] for query in tokens])


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
@given(paths=ANY_PATHS, packing=st.sampled_from(["tree", "rows"]), causal=st.booleans(), window=st.integers(1, 9))
def test_node_attention_equals_dense_products(
    paths: list[list[list[int]]], packing: Any, causal: bool, window: int, softcap: float | None
) -> None:
    packed = pack(paths, packing)
    size = window if causal and window < 8 else None
    layout = NodeLayout.from_packed(packed, causal)
    torch.manual_seed(0)
    shapes = ((1, heads, len(packed.input_ids), 3) for heads in (4, 2, 2))
    query, key, value = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    actual = node_attention(query, key, value, layout, window=size, softcap=softcap)
    expected = _naive(query, key, value, _visible(packed, causal, size), softcap)
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


@pytest.mark.parametrize("packing", ["tree", "rows"])
@pytest.mark.parametrize("kind", sorted(DECODER_TYPES))
def test_decoder_states_equal_those_of_plain_sequences(kind: str, packing: Any) -> None:
    model = _model(kind).double()
    # Copies without sharing: states of a path's own tokens are at the end of its plain sequence.
    packed = pack(PATHS, packing)
    ends = packed.node_lengths.cumsum(0)[packed.candidate_nodes].tolist()
    with torch.no_grad():
        rows = [torch.tensor([sum(path, [])]) for path in unpack(packed)]
        expected = [model(input_ids=row, use_cache=False).last_hidden_state[0] for row in rows]
        states = model(**packed_inputs(model, packed)).last_hidden_state[0]
    for path, end, row in zip(PATHS, ends, expected, strict=True):
        length = len(path[-1])
        torch.testing.assert_close(states[end - length : end], row[-length:], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("packing", ["tree", "rows"])
@pytest.mark.parametrize("kind", sorted(ENCODER_TYPES))
def test_encoder_states_equal_those_under_a_mask(kind: str, packing: Any) -> None:
    model = _model(kind)
    packed = pack(PATHS, packing)
    mask = torch.zeros(1, 1, *[len(packed.input_ids)] * 2).masked_fill_(~_visible(packed, causal=False), -1e30)
    positions = packed.position_ids.unsqueeze(0) + position_offset(model.config)
    with torch.no_grad():
        inputs = {"input_ids": packed.input_ids.unsqueeze(0), "position_ids": positions}
        expected = model(**inputs, attention_mask=mask).last_hidden_state[0]
        states = model(**packed_inputs(model, packed)).last_hidden_state[0]
    torch.testing.assert_close(states, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "gemma2", "gemma3_text", "llama", "mistral"])
def test_enabled_model_reads_padded_rows_as_before(kind: str) -> None:
    model = _model(kind)
    tokens = torch.tensor([[5, 70, 71, 1, 1, 1, 1, 1], [5, 72, 73, 74, 75, 76, 77, 78]])
    mask = tokens != 1
    with torch.no_grad():
        before = model(input_ids=tokens, attention_mask=mask).last_hidden_state
        enable_node_attention(model)
        after = model(input_ids=tokens, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(after[mask], before[mask], rtol=1e-5, atol=1e-5)


def test_causal_chains_are_sequences() -> None:
    layout = NodeLayout.from_packed(pack([[[7, 8], [1], [3]], [[9], [5]], [[9], [4]]], "tree"), causal=True)
    assert layout.lengths == [4, 1, 1, 1]
    assert layout.paths == [(0,), (1,), (1, 2), (1, 3)]
    assert [layout.is_sequence(block, None) for block in range(4)] == [True, True, False, False]
    assert not layout.is_sequence(0, 3)


def test_masks_are_computed_once_per_batch() -> None:
    layout = NodeLayout([2, 3, 3], [-1, 0, 0], causal=True)
    like = torch.zeros(1)
    assert layout.mask(1, None, like) is layout.mask(2, None, like)
    assert layout.mask(1, 2, like) is not layout.mask(1, None, like)


def test_architecture_without_the_layout_raises() -> None:
    model = _model("bert")
    inputs = packed_inputs(model, pack(PATHS))
    del inputs["node_layout"]
    with pytest.raises(ValueError, match="`node_layout` in BertSelfAttention"):
        model(**inputs)


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
    torch.testing.assert_close(scores.sub_scores, expected, rtol=1e-4, atol=1e-5)
    with torch.inference_mode():  # the model itself is unchanged
        assert torch.equal(saved.model(pack(paths, "rows")).rewards, expected)
