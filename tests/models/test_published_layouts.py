"""Backbones in the layouts of published repositories: sentencepiece vocabularies only, weights as .bin only.

The folders are stand-ins: tiny random weights and vocabularies of a few words.
"""

from __future__ import annotations

import io
import sys
from importlib import import_module
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import DebertaV2Config, LlamaConfig, PreTrainedConfig

from radreward.data.tokenizer import SegmentTokenizer, load_tokenizer
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.types import PromptSegments

SIZES: dict[str, Any] = {
    "vocab_size": 130,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
LAYOUTS: dict[str, tuple[PreTrainedConfig, str, str]] = {
    # As in microsoft/deberta-v3-base and lmsys/vicuna-7b-v1.5.
    "deberta": (DebertaV2Config(**SIZES), "unigram", "spm.model"),
    "vicuna": (LlamaConfig(**SIZES), "bpe", "tokenizer.model"),
}
WORDS = ("no", "pleural", "effusion", "pneumothorax", "left", "right", "lung", "clear", "heart", "normal")


def write_layout(folder: Path, name: str) -> None:
    """Write a configuration and a vocabulary that only sentencepiece reads."""
    sentencepiece: Any = import_module("sentencepiece")
    config, kind, file = LAYOUTS[name]
    vocabulary = io.BytesIO()
    special = {"pad_id": 0, "unk_id": 3} if kind == "unigram" else {"pad_id": -1, "unk_id": 0}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(" ".join(WORDS[(7 * i + 3 * j) % len(WORDS)] for j in range(8)) for i in range(200)),
        model_writer=vocabulary,
        vocab_size=60,
        model_type=kind,
        bos_id=1,
        eos_id=2,
        hard_vocab_limit=False,
        minloglevel=2,
        **special,
    )
    config.save_pretrained(folder)
    (folder / file).write_bytes(vocabulary.getvalue())


@pytest.mark.parametrize("name", LAYOUTS)
def test_sentencepiece_vocabulary_is_read_with_offsets(name: str, tmp_path: Path) -> None:
    write_layout(tmp_path, name)
    tokenizer = SegmentTokenizer(load_tokenizer(str(tmp_path)))
    text = "no pleural effusion"
    offsets = tokenizer.offsets(text)
    assert len(offsets) == tokenizer.length(text)
    assert "".join(text[start:end] for start, end in offsets).replace(" ", "") == "nopleuraleffusion"
    assert all(tokenizer.encode_segments(PromptSegments("", text, "left lung")))


def load_without(package: str, folder: Path) -> None:
    """Write the error of a vocabulary that is loaded as if a package were not installed."""
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        load_tokenizer(str(folder))
    except InputError as error:
        (folder / "error.txt").write_text(str(error))


@pytest.mark.parametrize("package", ["sentencepiece", "google.protobuf"])
def test_missing_package_of_a_vocabulary_is_named(package: str, processes: ForkServerContext, tmp_path: Path) -> None:
    write_layout(tmp_path, "vicuna")
    process = processes.Process(target=load_without, args=(package, tmp_path))
    process.start()
    process.join()
    error = (tmp_path / "error.txt").read_text()
    assert error.endswith("(its vocabulary needs two packages: pip install sentencepiece protobuf).")


def test_pickled_weights_are_read_without_code_and_announced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_layout(tmp_path, "vicuna")
    backbone = Backbone(str(tmp_path), lora=None, local_files_only=True)
    from transformers import AutoModel

    weights = AutoModel.from_config(LAYOUTS["vicuna"][0]).state_dict()
    torch.save(weights, tmp_path / "pytorch_model.bin")
    loaded = backbone.build().state_dict()
    assert all(torch.equal(weights[name], loaded[name]) for name in weights)
    assert "weights are read from a pickle file with `weights_only`" in capsys.readouterr().err


class _Attack:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.target,)


def test_code_in_pickled_weights_is_not_run(tmp_path: Path) -> None:
    write_layout(tmp_path, "vicuna")
    torch.save({"a": _Attack(tmp_path / "run")}, tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match="no weights can be loaded from it .its pickle file holds more than weights"):
        Backbone(str(tmp_path), lora=None, local_files_only=True).build()
    assert not (tmp_path / "run").exists()
