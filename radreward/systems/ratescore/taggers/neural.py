"""Taggers that are neural networks. Distinct sentences are tagged in batches of similar length."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from radreward.data.tokenizer import TextTokenizer
from radreward.io.artifacts import fingerprint, save_tensors
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.models.backbone import Backbone
from radreward.models.bert import BackboneConfig
from radreward.models.sentence_tokenizer import (
    SentenceTokenizer,
    TokenBatch,
    TokenizedChunk,
    length_batches,
    max_chunk_tokens,
)
from radreward.systems.ratescore.taggers.base import CONFIG_FILE, WEIGHTS_FILE, Tagger
from radreward.types import Entity

TokenSpan = tuple[int, int, str]
"""First token of an entity, the token after its last one, and its type."""


class EntityDecoder(nn.Module):
    """A network that decodes the entities of tokenized chunks."""

    config: BackboneConfig

    @abstractmethod
    def decode(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk]) -> list[list[TokenSpan]]:
        """Return the entities of each chunk, in order, without overlap."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the `kind` and the constructor arguments except the backbone."""


class TaggerModel(EntityDecoder):
    """A backbone, which encodes sentences, with a head over its token states."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.encoder = backbone.build(packed=False)
        self.config = backbone.config(packed=False)

    def states(self, batch: TokenBatch) -> Tensor:
        """Return (R, L, d) float32 token states."""
        states: Tensor = self.encoder(**batch._asdict()).last_hidden_state
        return states.float()

    @abstractmethod
    def loss(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk], entities: Sequence[Sequence[Entity]]) -> Tensor:
        """Return the mean loss of chunks with gold entities, whose offsets are relative to the chunk."""

    def trainable_names(self) -> set[str]:
        """Return the keys of the state dict that training changes."""
        return {name for name, parameter in self.named_parameters() if parameter.requires_grad}


_DecoderT = TypeVar("_DecoderT", bound=EntityDecoder)


class BatchTagger(Tagger, Generic[_DecoderT]):
    """A tagger that decodes batches of sentences. Each distinct sentence is tagged once.

    A sentence with more tokens than the model has positions is split. An entity across the split becomes two entities.
    """

    def __init__(self, model: _DecoderT, tokenizer: TextTokenizer) -> None:
        self.model = model.eval()
        self.sentence_tokenizer = SentenceTokenizer(tokenizer, max_chunk_tokens(model.config))

    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """See `Tagger.tag`."""
        row_of = {text: row for row, text in enumerate(dict.fromkeys(sentences))}
        chunks = [chunk for text, row in row_of.items() for chunk in self.sentence_tokenizer.chunks(row, text)]
        entities: list[list[Entity]] = [[] for _ in row_of]
        device = next(self.model.parameters()).device
        for group in length_batches(chunks):
            batch = TokenBatch(*(part.to(device) for part in self.sentence_tokenizer.collate(group)))
            with torch.inference_mode():
                decoded = self.model.decode(batch, group)
            for chunk, spans in zip(group, decoded, strict=True):
                entities[chunk.sentence_index] += entities_from_spans(chunk, spans)
        tagged = [tuple(sorted(row, key=lambda entity: entity.start)) for row in entities]
        return [tagged[row_of[text]] for text in sentences]

    def fingerprint(self) -> str:
        """Return a hash of settings and weights."""
        settings = self.model.settings()
        return f"{settings['kind']}-{fingerprint(settings, self.model.state_dict())}"


class NeuralTagger(BatchTagger[TaggerModel]):
    """A tagger with a model that `TaggerModule` trains: an `IOBTagger` or a `SpanTagger`."""

    def save_pretrained(
        self, folder: str | Path, training_info: Mapping[str, Any] | None = None, half_precision: bool = False
    ) -> None:
        """Write settings and trained weights. The backbone is stored by its name.

        Args:
            folder: Output folder. A tagger in this folder is replaced.
            training_info: Training metadata, stored for information only.
            half_precision: Store the weights as float16.

        Raises:
            InputError: If the folder holds something else, or a weight is not finite.
        """
        names = self.model.trainable_names()
        state = {name: value for name, value in self.model.state_dict().items() if name in names}
        config = {**self.model.settings(), **self.model.backbone.to_dict(), "training_info": dict(training_info or {})}
        with atomic_folder(folder, {CONFIG_FILE}, "a tagger") as scratch:
            save_tensors(scratch / WEIGHTS_FILE, state, torch.float16 if half_precision else None)
            write_model_settings(scratch / CONFIG_FILE, config, (WEIGHTS_FILE,))


def entities_from_spans(chunk: TokenizedChunk, spans: Sequence[TokenSpan]) -> list[Entity]:
    """Return the entities of token spans, with offsets in the sentence."""
    entities = []
    for first, stop, kind in spans:
        offsets = [offset for offset in chunk.offsets[first:stop] if offset[0] < offset[1]]
        if offsets:
            start, end = offsets[0][0], offsets[-1][1]
            entities.append(Entity(chunk.text[start:end], kind, chunk.start + start, chunk.start + end))
    return entities
