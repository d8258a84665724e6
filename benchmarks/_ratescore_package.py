"""Models of the RaTEScore benchmark, and entities decoded in the way of the package RaTEScore 0.6.0."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    BertConfig,
    BertModel,
    DebertaV2Config,
    DebertaV2ForTokenClassification,
    PreTrainedTokenizerFast,
)

from radreward.data.iob import spans_from_iob
from radreward.data.tokenizer import resolve_backbone
from radreward.models.sentence_tokenizer import SentenceTokenizer, TokenBatch, length_batches
from radreward.systems.ratescore.taggers import Tagger
from radreward.systems.ratescore.taggers.deberta import limit_relative_positions
from radreward.types import ENTITY_TYPES, Entity

LABELS = ("O", *(f"{letter}-{kind.upper()}" for kind in ENTITY_TYPES for letter in "BI"))
BATCH_TOKENS = 512
"""Tokens per batch of the tagger, which fit into the caches of a core."""


def write_models(folder: Path, texts: Sequence[str], layers: int, width: int) -> None:
    """Save a tagger and an encoder with random weights that distinguish tokens, and the tokenizer of the tagger."""
    torch.manual_seed(0)
    tokenizer = subword_tokenizer(texts)
    tokenizer.save_pretrained(folder / "tagger")
    sizes: dict[str, Any] = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 4 * width,
    }
    tagger_settings: dict[str, Any] = {
        "relative_attention": True,
        "position_buckets": 256,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "type_vocab_size": 0,
        "pad_token_id": 0,
        "vocab_size": len(tokenizer),
        "id2label": dict(enumerate(LABELS)),
        "label2id": {label: number for number, label in enumerate(LABELS)},
    }
    tagger = DebertaV2ForTokenClassification(DebertaV2Config(**sizes, **tagger_settings))
    encoder = BertModel(BertConfig(**sizes))
    with torch.no_grad():
        tagger.classifier.weight.normal_(0, 1)
        tagger.classifier.bias.zero_()[0] = width**0.5  # about as many tokens outside entities as in real reports
        for parameter in encoder.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3)
    tagger.save_pretrained(folder / "tagger")
    encoder.save_pretrained(folder / "encoder")
    AutoTokenizer.from_pretrained(resolve_backbone("embedded")).save_pretrained(folder / "encoder")


def subword_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer whose pieces look like those of DeBERTa-v3 ("▁pleural"), trained on the texts.

    Byte-pair merges, because training a unigram model gives other pieces in every process.
    """
    tokens = Tokenizer(models.BPE(unk_token="[UNK]"))  # noqa: S106 - no password
    tokens.normalizer = normalizers.NFKC()
    tokens.pre_tokenizer = pre_tokenizers.Metaspace()
    tokens.decoder = decoders.Metaspace()
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    tokens.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=8000, special_tokens=special, show_progress=False))
    ends = [(name, tokens.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokens.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    names = ("pad_token", "cls_token", "sep_token", "unk_token", "mask_token")
    return PreTrainedTokenizerFast(tokenizer_object=tokens, **dict(zip(names, special, strict=True)))


class PackageTagger(Tagger):
    """Tagger with our batches and the package's decoding of labels."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForTokenClassification.from_pretrained(folder).eval()
        limit_relative_positions(self.model)  # as our tagger does
        self.tokens = SentenceTokenizer(self.tokenizer, 512)
        self.num_entities = self.num_missed = 0

    @torch.inference_mode()
    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """See `Tagger.tag`; without offsets."""
        pieces = [piece for row, text in enumerate(sentences) for piece in self.tokens.chunks(row, text)]
        tagged: list[tuple[Entity, ...]] = [() for _ in sentences]
        for group in length_batches(pieces, BATCH_TOKENS):
            batch: TokenBatch = self.tokens.collate(group)
            best = self.model(**batch._asdict()).logits.argmax(-1).tolist()
            for piece, row in zip(group, best, strict=True):
                # The package also reads the label after the sentence, which is that of padding in a longer batch.
                labels = [LABELS[number] for number in row[: len(piece.input_ids)]]
                spans = package_spans(labels)
                self.num_entities += len(spans_from_iob(labels[1:-1]))
                self.num_missed += len(spans_from_iob(labels[1:-1])) - len(spans)
                words = self.tokenizer.convert_ids_to_tokens(list(piece.input_ids))
                tagged[piece.sentence_index] = tuple(
                    Entity(self.tokenizer.convert_tokens_to_string(words[first : last + 1]), kind, 0, 0)
                    for first, last, kind in spans
                )
        return tagged

    def fingerprint(self) -> str:
        """Return a hash of the weights."""
        state = sorted(self.model.state_dict().items())
        return hashlib.sha256(b"".join(name.encode() + value.numpy().tobytes() for name, value in state)).hexdigest()

    def save_pretrained(self, folder: str | Path) -> None:
        """Save model and tokenizer; a tagger loaded from the folder uses our decoding."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def package_spans(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return first token, last token and type of each entity that the package decodes, including its errors.

    An entity at the end of a sentence depends on the label after it; an I tag before a B tag starts an entity.
    """
    kinds = {kind.upper(): kind for kind in ENTITY_TYPES}
    spans: list[tuple[int, int, str]] = []
    start: int | None = None
    end: int | None = None
    kind = ""
    for index in range(1, len(labels) - 1):
        label, following = labels[index], labels[index + 1][0]
        if label == "O":
            continue
        if label[0] == "B":
            start, kind = index, label[2:]
            if following != "I":
                end = index
                spans.append((index, index, label[2:]))
                if following == "O":
                    start = end = None
        elif following != "I":
            end = index
            if start is not None:
                spans.append((start, index, kind))
            start, kind = (index, label[2:]) if following == "B" else (None, "")
            end = end if following == "B" else None
    if start is not None and end is None:
        spans.append((start, len(labels) - 2, kind))
    return [(first, last, kinds[name]) for first, last, name in spans]
