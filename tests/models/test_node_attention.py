"""Attention node by node equals attention under a tree mask."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoConfig, AutoModel, PreTrainedModel

from radreward.criteria import RadCliQCriteria
from radreward.data.packing import Packing, pack
from radreward.models import Backbone, RewardModel, RewardModelArtifact
from radreward.models.attention import ENCODER_TYPES, model_inputs
from radreward.models.node_attention import enable_node_attention, encode_packed, node_blocks
from radreward.prompts import PlainPairTemplate
from radreward.systems.er2score.prompt import InstructionTemplate
from radreward.systems.er2score.scorer import RewardModelScorer

SIZES: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "embedding_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
}
PIECE = st.lists(st.integers(3, 99), min_size=1, max_size=12)


def _encoder(kind: str) -> PreTrainedModel:
    torch.manual_seed(0)
    model: PreTrainedModel = AutoModel.from_config(AutoConfig.for_model(kind, **SIZES))
    model.eval()
    return model


@torch.inference_mode()
def _compare(kind: str, paths: list[list[list[int]]], packing: Packing) -> None:
    model = _encoder(kind)
    packed = pack(paths, packing, pad=1)
    expected = model(**model_inputs(packed, model.config, torch.float32)).last_hidden_state
    encoder = enable_node_attention(model)
    assert encoder is not None
    states = encode_packed(encoder, packed)
    real = packed.node_ids >= 0
    torch.testing.assert_close(states[real], expected[real], rtol=1e-5, atol=1e-5)
    assert not states[~real].any()


@pytest.mark.parametrize("kind", sorted(ENCODER_TYPES))
@pytest.mark.parametrize("packing", ["rows", "tree", "batch"])
def test_encode_packed_equals_masked_attention(kind: str, packing: Packing) -> None:
    instruction, first, second = [2, 9, 9], [3, 4, 5, 6, 7], [8, 9]
    paths = [[instruction, first, [10]], [instruction, second, [11, 12, 13]], [instruction, first, [14] * 9]]
    _compare(kind, [*paths, [[50, 51], [52]], [[60]]], packing)


@given(st.lists(st.lists(PIECE, min_size=1, max_size=3), min_size=1, max_size=6), st.sampled_from(["tree", "batch"]))
def test_encode_packed_equals_masked_attention_for_any_tree(paths: list[list[list[int]]], packing: Packing) -> None:
    _compare("bert", paths, packing)


def test_node_blocks_cover_every_token_once() -> None:
    packed = pack([[[7, 8], [1]], [[7, 8], [2, 3]], [[4], [5, 6], [7]]], "tree")
    blocks = node_blocks(packed)
    covered = [column for block in blocks for column in range(block.queries.start, block.queries.stop)]
    assert covered == list(range(int((packed.node_ids >= 0).sum())))
    assert [len(block.keys) for block in blocks] == [1, 2, 2, 1, 2, 3]


def test_node_attention_without_blocks_or_with_a_mask_raises() -> None:
    model = _encoder("bert")
    enable_node_attention(model)
    with pytest.raises(ValueError, match="node_blocks"):
        model(input_ids=torch.ones(1, 3, dtype=torch.int64))
    packed = pack([[[7, 8], [1]]], "tree")
    with pytest.raises(ValueError, match="no `attention_mask`"):
        model(**model_inputs(packed, model.config, torch.float32), node_blocks=node_blocks(packed))


@pytest.mark.parametrize("backbone", ["tiny-bert", "tiny-llama"])
def test_scorer_rewards_equal_those_of_the_model(backbone: str) -> None:
    torch.manual_seed(0)
    template = PlainPairTemplate() if backbone == "tiny-bert" else InstructionTemplate()
    saved = RewardModelArtifact(RewardModel(Backbone(backbone), RadCliQCriteria()).eval(), template, 4000)
    scorer = RewardModelScorer(saved)
    prompts = [("clear lungs", "no effusion"), ("clear lungs", "a large effusion on the left"), ("heart", "size")]
    paths = [scorer._prompt_encoder.token_segments(*pair) for pair in prompts]
    with torch.inference_mode():
        expected = saved.model(pack(paths, "rows"))
    scores = scorer.score(*zip(*prompts, strict=True))
    assert scores.sub_scores is not None
    torch.testing.assert_close(scores.sub_scores, expected, rtol=1e-4, atol=1e-5)
    with torch.inference_mode():  # the model itself is unchanged
        assert torch.equal(saved.model(pack(paths, "rows")), expected)


def test_enable_node_attention_rejects_decoders_and_adapters() -> None:
    assert enable_node_attention(Backbone("tiny-llama", lora=None).build()) is None
    assert enable_node_attention(Backbone("tiny-bert").build()) is None
    assert enable_node_attention(Backbone("tiny-bert", lora=None).build()) is not None
