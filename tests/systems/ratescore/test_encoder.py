from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer, BertConfig, BertForTokenClassification

from radreward.data.tokenizer import load_tokenizer, resolve_backbone
from radreward.errors import InputError
from radreward.systems.ratescore.encoder import EntityEncoder, Pooling
from radreward.types import Entity

NAMES = ("pleural effusion", "heart", "small left apical pneumothorax", "edema", "heart")


@pytest.fixture(scope="module")
def embedded() -> EntityEncoder:
    return EntityEncoder()


def padded(name: str, names: Sequence[str], pooling: str, max_length: int = 30) -> torch.Tensor:
    """Encode in one padded batch, with explicit pooling."""
    folder = resolve_backbone(name)
    inputs = AutoTokenizer.from_pretrained(folder)(
        list(names), padding=True, truncation=True, max_length=max_length, return_tensors="pt"
    )
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder)(**inputs).last_hidden_state
    rows = []
    for state, mask in zip(states, inputs["attention_mask"], strict=True):
        states_of_name = state[: int(mask.sum())]
        row = states_of_name[0] if pooling == "first" else sum(states_of_name) / len(states_of_name)
        rows.append(row / row.pow(2).sum().sqrt())
    return torch.stack(rows)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_embed_equals_a_padded_batch(pooling: Pooling) -> None:
    vectors = EntityEncoder(pooling=pooling).embed(NAMES).vectors
    torch.testing.assert_close(vectors, padded("embedded", NAMES, pooling), rtol=0, atol=1e-5)


def test_synonyms_are_more_similar_than_others(embedded: EntityEncoder) -> None:
    enlarged, big, rib = embedded.embed(["cardiomegaly", "enlarged heart", "rib fracture"]).vectors
    assert enlarged @ big > enlarged @ rib + 0.1


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=12), max_size=8))
def test_embed_keeps_order_and_unit_length(names: list[str]) -> None:
    embedded = TINY.embed(names)
    assert embedded.vectors.shape == (len(names), 32)
    torch.testing.assert_close(embedded.vectors.norm(dim=1), torch.ones(len(names)))
    for index, name in enumerate(names):
        torch.testing.assert_close(embedded.vectors[index], TINY.embed([name]).vectors[0], rtol=0, atol=1e-6)


TINY = EntityEncoder("tiny-bert", cache_size=3)


def test_name_over_the_limit_is_truncated(embedded: EntityEncoder) -> None:
    long = "effusion " * 40
    embeddings = embedded.embed(["heart", long])
    assert embeddings.truncated == (False, True)
    torch.testing.assert_close(embeddings.vectors, padded("embedded", ["heart", long], "mean"), rtol=0, atol=1e-5)


def test_special_tokens_in_a_name_are_text(embedded: EntityEncoder) -> None:
    with_token, plain = embedded.embed(["mass [SEP] left", "mass left"]).vectors
    assert with_token @ plain < 0.999
    tokenizer = load_tokenizer("embedded")
    assert tokenizer.sep_token_id == tokenizer.encode("[SEP]", add_special_tokens=False)[0]


def test_folder_of_another_task_is_loaded_but_not_without_weights(tmp_path: Path) -> None:
    model = BertForTokenClassification(
        BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    )
    model.save_pretrained(tmp_path / "a")
    AutoTokenizer.from_pretrained(resolve_backbone("embedded")).save_pretrained(tmp_path / "a")
    encoders = [EntityEncoder(str(tmp_path / "a")) for _ in range(2)]
    assert encoders[0].fingerprint == encoders[1].fingerprint  # no random pooler in it
    assert encoders[0].embedding_dim == 8
    file = tmp_path / "a" / "model.safetensors"
    weights = load_file(file)
    del weights["bert.embeddings.word_embeddings.weight"]
    save_file(weights, file, {"format": "pt"})
    with pytest.raises(
        InputError, match="Expected all weights of BertModel but 'embeddings.word_embeddings.weight' is"
    ):
        EntityEncoder(str(tmp_path / "a"))
    file.unlink()
    with pytest.raises(InputError, match="no weights can be loaded"):
        EntityEncoder(str(tmp_path / "a"))


def test_invalid_settings_are_rejected() -> None:
    with pytest.raises(InputError, match="/nowhere"):
        EntityEncoder("/nowhere")
    with pytest.raises(ValueError, match="Expected `pooling` to be mean or first but got 'last'"):
        EntityEncoder(pooling="last")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Expected `cache_size` to be >= 1 but got 0"):
        EntityEncoder("tiny-bert", cache_size=0)


def test_type_context_adds_prefixes() -> None:
    heart, silhouette = Entity("heart", "Anatomy", 0, 5), Entity("cardiac silhouette", "Anatomy", 0, 18)
    mass = Entity("mass", "Abnormality", 0, 4)
    plain, typed = EntityEncoder("tiny-bert"), EntityEncoder("tiny-bert", context="type", max_length=100)
    assert plain.contextualize("heart mass", [heart, mass]) == ["heart", "mass"]
    assert typed.contextualize("heart mass", [mass]) == ["mass"]
    assert typed.contextualize("heart mass", [heart])[0].endswith(" heart")
    assert plain.fingerprint != EntityEncoder("tiny-bert", context="type").fingerprint
    assert EntityEncoder(**typed.settings()).contextualize("heart", [heart]) == typed.contextualize("heart", [heart])

    def similarity(encoder: EntityEncoder) -> float:
        first, second = encoder.embed(encoder.contextualize("", (heart, silhouette))).vectors
        return float(first @ second)

    assert similarity(EntityEncoder(context="type")) > similarity(EntityEncoder())
    with pytest.raises(ValueError, match="`context` to be name, type or phrase"):
        EntityEncoder("tiny-bert", context="all")  # type: ignore[arg-type]
