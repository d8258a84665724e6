"""Inputs of transformers: states equal plain sequences, for every supported architecture; maximum path length."""

from typing import Any

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModel,
    BertConfig,
    GPT2Config,
    LlamaConfig,
    PreTrainedConfig,
    PreTrainedModel,
    RobertaConfig,
)

from radreward.data.packing import pack, unpack
from radreward.errors import InputError
from radreward.models.transformers_attention import (
    DECODER_TYPES,
    ENCODER_TYPES,
    check_length,
    enable_node_attention,
    packed_inputs,
    position_offset,
)
from tests.models.visible_tokens import visible_tokens

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


def _model(kind: str) -> PreTrainedModel:
    torch.manual_seed(0)
    known = AutoConfig.for_model(kind)
    config = AutoConfig.for_model(kind, **{key: value for key, value in SIZES.items() if hasattr(known, key)})
    model: PreTrainedModel = AutoModel.from_config(config)
    model.eval()
    return model


@pytest.mark.parametrize("packing", ["tree", "rows"])
@pytest.mark.parametrize("kind", sorted(DECODER_TYPES))
def test_decoder_states_equal_those_of_plain_sequences(kind: str, packing: Any) -> None:
    model = _model(kind).double()
    # Copies without sharing: states of a path's own tokens are at the end of its plain sequence.
    packed = pack(PATHS, packing)
    ends = torch.tensor(packed.node_lengths).cumsum(0)[list(packed.leaf_nodes)].tolist()
    with torch.no_grad():
        rows = [torch.tensor([sum(path.segments, [])]) for path in unpack(packed)]
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
    mask = torch.zeros(1, 1, *[len(packed.input_ids)] * 2).masked_fill_(~visible_tokens(packed, causal=False), -1e30)
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


def test_architecture_without_the_layout_raises() -> None:
    model = _model("bert")
    inputs = packed_inputs(model, pack(PATHS))
    del inputs["node_layout"]
    with pytest.raises(ValueError, match="`node_layout` in BertSelfAttention"):
        model(**inputs)


@pytest.mark.parametrize(
    ("config", "positions"),
    [
        (BertConfig(max_position_embeddings=512), 512),
        (RobertaConfig(max_position_embeddings=514, pad_token_id=1), 512),  # its positions begin at 2
        (GPT2Config(n_positions=1024), 1024),
        (LlamaConfig(max_position_embeddings=2048), 2048),
    ],
)
def test_check_length_accepts_exactly_the_positions(config: PreTrainedConfig, positions: int) -> None:
    check_length(config, positions)
    with pytest.raises(InputError, match=f"to be at most {positions}, the positions of this {config.model_type}"):
        check_length(config, positions + 1)
