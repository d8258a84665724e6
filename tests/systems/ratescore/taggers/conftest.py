"""Small taggers, trained briefly or untrained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers import BertConfig, BertForTokenClassification, DebertaV2Config, DebertaV2ForTokenClassification

from radreward.data.tokenizer import byte_tokenizer
from radreward.systems.ratescore.taggers.iob_tagger import IOB_TAGS

SIZES: dict[str, Any] = {
    "vocab_size": 260,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}


@pytest.fixture(params=["bert", "deberta"])
def hub_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A token-classification model with random weights, in the format of transformers, with the labels of RaTE-NER."""
    names = {number: tag.upper() for number, tag in enumerate(IOB_TAGS)}
    labels: dict[str, Any] = {"id2label": names, "label2id": {tag: number for number, tag in names.items()}}
    if request.param == "bert":
        BertForTokenClassification(BertConfig(**SIZES, **labels)).save_pretrained(tmp_path)
    else:
        config = DebertaV2Config(**SIZES, **labels, relative_attention=True, pos_att_type=["p2c", "c2p"])
        DebertaV2ForTokenClassification(config).save_pretrained(tmp_path)
    byte_tokenizer(encoder=True).save_pretrained(tmp_path)
    return tmp_path
