"""Taggers that are models: distinct sentences, batches by length, entities by offsets."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedTokenizerBase

from radreward.errors import InputError
from radreward.models.backbone import Backbone
from radreward.models.sentence_tokenizer import (
    SentenceTokenizer,
    TokenBatch,
    TokenizedChunk,
    length_batches,
    max_chunk_tokens,
)
from radreward.systems.ratescore.taggers.base import Tagger
from radreward.systems.ratescore.taggers.folder import CONFIG, FORMAT, WEIGHTS, atomic_tagger_folder, write_json
from radreward.types import Entity

TokenSpan = tuple[int, int, str]
"""First token of an entity, the token behind its last, its type."""


class EntityDecoder(nn.Module):
    """A model that finds the entities of pieces."""

    config: PreTrainedConfig

    @abstractmethod
    def decode(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk]) -> list[list[TokenSpan]]:
        """The entities of each piece, in order, without overlap."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Its `kind`, and what beside the backbone it is built by."""


class TaggerModel(EntityDecoder):
    """A backbone and a head over its token states.

    Args:
        backbone: What reads the sentences.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.encoder = backbone.build(packed=False)
        self.config = backbone.config(packed=False)

    def states(self, batch: TokenBatch) -> Tensor:
        """(R, L, width) float32 token states."""
        states: Tensor = self.encoder(**batch._asdict()).last_hidden_state
        return states.float()

    @abstractmethod
    def loss(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk], entities: Sequence[Sequence[Entity]]) -> Tensor:
        """The mean loss of pieces with known entities, whose offsets count from the piece's beginning."""

    def trainable_names(self) -> set[str]:
        """The entries of the state dict that training changes."""
        return {name for name, parameter in self.named_parameters() if parameter.requires_grad}


class BatchTagger(Tagger):
    """A tagger by a model that decodes batches; each distinct sentence is computed once.

    A sentence of more tokens than the model has positions is read in parts; an entity across a cut becomes two.

    Args:
        model: What decodes.
        tokenizer: That of its backbone.
    """

    def __init__(self, model: EntityDecoder, tokenizer: PreTrainedTokenizerBase) -> None:
        self.model = model.eval()
        self.sentence_tokenizer = SentenceTokenizer(tokenizer, max_chunk_tokens(model.config))

    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """See `Tagger.tag`."""
        distinct = {text: row for row, text in enumerate(dict.fromkeys(sentences))}
        pieces = [piece for text, row in distinct.items() for piece in self.sentence_tokenizer.chunks(row, text)]
        found: list[list[Entity]] = [[] for _ in distinct]
        device = next(self.model.parameters()).device
        for group in length_batches(pieces):
            batch = TokenBatch(*(part.to(device) for part in self.sentence_tokenizer.collate(group)))
            with torch.inference_mode():
                decoded = self.model.decode(batch, group)
            for piece, spans in zip(group, decoded, strict=True):
                found[piece.sentence_index] += entities_from_spans(piece, spans)
        tagged = [tuple(sorted(entities, key=lambda entity: entity.start)) for entities in found]
        return [tagged[distinct[text]] for text in sentences]

    def fingerprint(self) -> str:
        """sha256 of settings and weights."""
        digest = hashlib.sha256(repr(self.model.settings()).encode())
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(name.encode() + value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return f"{self.model.settings()['kind']}-{digest.hexdigest()}"


class NeuralTagger(BatchTagger):
    """A tagger by a model that was trained here; see `BatchTagger`.

    Args:
        model: Of tags or of spans.
        tokenizer: That of its backbone.
    """

    model: TaggerModel

    def __init__(self, model: TaggerModel, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__(model, tokenizer)

    def save_pretrained(
        self, folder: str | Path, training: Mapping[str, Any] | None = None, half_precision: bool = False
    ) -> None:
        """Write what was trained, as safetensors, and the settings; the backbone is named.

        Args:
            folder: Where to; an older tagger there is replaced.
            training: What is told of the training; nothing depends on it.
            half: Hold the weights as float16.

        Raises:
            InputError: If the folder holds something else, or a weight is not finite.
        """
        backbone, names = self.model.backbone, self.model.trainable_names()
        state = {
            key: value.detach().cpu().contiguous() for key, value in self.model.state_dict().items() if key in names
        }
        if half_precision:
            state = {key: value.half() for key, value in state.items()}
        if broken := next((key for key, value in state.items() if not torch.isfinite(value).all()), None):
            raise InputError(f"{folder}: Expected {broken!r} to hold finite numbers only, as {state[broken].dtype}.")
        with atomic_tagger_folder(folder) as new:
            save_file(state, new / WEIGHTS)
            config = {
                "format": FORMAT,
                **self.model.settings(),
                "backbone": {key: getattr(backbone, key) for key in ("name", "quantization", "dtype", "attention")},
                "lora": backbone.lora and {key: getattr(backbone.lora, key) for key in ("r", "alpha", "targets")},
                "training": dict(training or {}),
            }
            write_json(new / CONFIG, config)


def entities_from_spans(chunk: TokenizedChunk, spans: Sequence[TokenSpan]) -> list[Entity]:
    """Entities by the characters of their tokens, counted from the sentence's beginning."""
    found = []
    for first, behind, kind in spans:
        chars = [span for span in chunk.offsets[first:behind] if span[0] < span[1]]
        if chars:
            start, end = chars[0][0], chars[-1][1]
            found.append(Entity(chunk.text[start:end], kind, chunk.start + start, chunk.start + end))
    return found
