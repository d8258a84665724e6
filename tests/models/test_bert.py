"""Our BERT against that of transformers."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel

from radreward.data.packing import pack
from radreward.data.tokenizer import resolve_backbone
from radreward.errors import InputError
from radreward.models.backbone import Backbone
from radreward.models.bert import BertEncoder
from radreward.models.transformers_attention import packed_inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small encoder of transformers; its norms and biases are not those of a new model."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 24,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 40,
    }
    model = BertModel(BertConfig(vocab_size=50, max_position_embeddings=16, **sizes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / 5)
    path = tmp_path_factory.mktemp("bert")
    model.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def models(folder: Path) -> tuple[BertEncoder, BertModel]:
    return BertEncoder.load(folder).eval(), BertModel.from_pretrained(folder).eval()


@given(lengths=st.lists(st.integers(1, 12), min_size=1, max_size=4), seed=st.integers(0, 99), masked=st.booleans())
def test_states_equal_those_of_transformers(
    models: tuple[BertEncoder, BertModel], lengths: list[int], seed: int, masked: bool
) -> None:
    ours, theirs = models
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, 50, (len(lengths), max(lengths)), generator=generator)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long() if masked else None
    with torch.no_grad():
        actual = ours(tokens, attention_mask=mask, output_hidden_states=True)
        expected = theirs(tokens, attention_mask=mask, output_hidden_states=True)
    assert ours(tokens).hidden_states is None
    assert torch.equal(actual.last_hidden_state, actual.hidden_states[-1])
    visible = torch.ones_like(tokens).bool() if mask is None else mask.bool()
    for own, other in zip(actual.hidden_states, expected.hidden_states, strict=True):
        torch.testing.assert_close(own[visible], other[visible], rtol=0, atol=1e-6)


@settings(max_examples=20)
@given(seed=st.integers(0, 99))
def test_trees_equal_those_of_transformers(models: tuple[BertEncoder, BertModel], folder: Path, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)

    def tokens(size: int) -> list[int]:
        return torch.randint(0, 50, (size,), generator=generator).tolist()

    shared = tokens(4)
    packed = pack([[shared, tokens(3)], [shared, tokens(5)], [tokens(2), tokens(1)]], "tree")
    ours = models[0]
    theirs = Backbone(str(folder), lora=None).build()
    with torch.no_grad():
        states = [model(**packed_inputs(model, packed)).last_hidden_state for model in (ours, theirs)]
    torch.testing.assert_close(*states, rtol=0, atol=1e-6)


def test_gradients_equal_those_of_transformers(models: tuple[BertEncoder, BertModel]) -> None:
    tokens = torch.arange(12).view(2, 6)
    gradients = []
    for model in models:
        model.zero_grad()
        model(tokens).last_hidden_state.square().sum().backward()
        gradients.append({name: value.grad for name, value in model.named_parameters() if value.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    for name, value in gradients[0].items():
        torch.testing.assert_close(value, gradients[1][name], rtol=1e-4, atol=1e-4)


def test_padding_is_invisible_in_bf16_with_and_without_gradients(folder: Path) -> None:
    model = BertEncoder.load(folder, torch.bfloat16)
    tokens = torch.arange(6)[None]
    expected = model(tokens[:, :4]).last_hidden_state.float()
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    with torch.no_grad():
        plain = model(tokens, attention_mask=mask).last_hidden_state[:, :4].float()
    torch.testing.assert_close(plain, expected, rtol=0, atol=0.1)
    trained = model(tokens, attention_mask=mask).last_hidden_state[:, :4].float()
    torch.testing.assert_close(trained, expected, rtol=0, atol=0.1)


def test_embedded_backbone_is_that_of_transformers_bit_by_bit() -> None:
    path = resolve_backbone("embedded")
    ours = Backbone("embedded", lora=None).build().eval()
    theirs = BertModel.from_pretrained(path, add_pooling_layer=False).eval()
    assert isinstance(ours, BertEncoder)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    tokens = torch.randint(0, 30_000, (2, 30), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(ours(tokens).last_hidden_state, theirs(tokens).last_hidden_state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_act": "relu"}, "Expected `hidden_act` to be 'gelu' but got 'relu'"),
        ({"model_type": "roberta"}, "Expected `model_type` to be 'bert' but got 'roberta'"),
        ({"position_embedding_type": "relative_key"}, "Expected `position_embedding_type` to be 'absolute'"),
        ({"num_hidden_layers": None}, "Expected the field `num_hidden_layers`"),
        ({"num_hidden_layers": 4}, "Expected the weights of a BERT encoder"),
        ({"hidden_size": 28}, "Expected the weights of a BERT encoder"),
    ],
)
def test_other_architecture_is_an_error_that_names_file_and_field(
    folder: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    other = shutil.copytree(folder, tmp_path / "other")
    config = json.loads((other / "config.json").read_text()) | change
    (other / "config.json").write_text(json.dumps({name: value for name, value in config.items() if value is not None}))
    with pytest.raises(InputError, match=message) as error:
        BertEncoder.load(other)
    assert str(other) in str(error.value)


def test_missing_weight_is_an_error(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    del weights["embeddings.LayerNorm.bias"]
    save_file(weights, other / "model.safetensors")
    with pytest.raises(InputError, match=r"embeddings\.LayerNorm\.bias"):
        BertEncoder.load(other)
