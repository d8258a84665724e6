"""Span classification after PURE (Zhong and Chen 2020; RaTEScore, appendix A.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.models.backbone import Backbone
from radreward.models.sentence_tokenizer import TokenBatch, TokenizedChunk
from radreward.systems.ratescore.taggers.neural import TaggerModel, TokenSpan
from radreward.types import ENTITY_TYPES, Entity

MAX_SPAN_WORDS = 8
"""Maximum number of words of a span."""
SPAN_CLASSES = ("", *ENTITY_TYPES)
"""The empty class, for no entity, then the types."""


class SpanTagger(TaggerModel):
    """A 3-layer MLP that classifies every span of at most 8 words by its first token, last token and number of words.

    Args:
        backbone: Encoder of the sentences.
        hidden_size: Size of the hidden layers; 3096 in the paper.
        width_embedding_dim: Size of the embedding of the number of words.

    Raises:
        ValueError: If a size is less than 1.
    """

    def __init__(self, backbone: Backbone, hidden_size: int = 256, width_embedding_dim: int = 150) -> None:
        for name, value in (("hidden_size", hidden_size), ("width_embedding_dim", width_embedding_dim)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        super().__init__(backbone)
        self.hidden_size, self.width_embedding_dim = hidden_size, width_embedding_dim
        self.widths = nn.Embedding(MAX_SPAN_WORDS, width_embedding_dim)
        self.head = nn.Sequential(
            nn.Linear(2 * self.config.hidden_size + width_embedding_dim, hidden_size),
            nn.ReLU(),
            nn.Linear(hidden_size, hidden_size),
            nn.ReLU(),
            nn.Linear(hidden_size, len(SPAN_CLASSES)),
        )

    def forward(self, batch: TokenBatch, spans: Tensor) -> Tensor:
        """Return (S, 6) float32 logits of spans (S, 4) int64: row, first token, last token, number of words."""
        states = self.states(batch)
        row, first, last, words = spans.unbind(1)
        logits: Tensor = self.head(torch.cat([states[row, first], states[row, last], self.widths(words - 1)], 1))
        return logits

    def loss(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk], entities: Sequence[Sequence[Entity]]) -> Tensor:
        """Return the cross-entropy of the classes, summed over spans and averaged over chunks, as in PURE.

        An entity of more than 8 words has no span and cannot be learned.
        """
        spans = _candidate_spans(chunks)
        gold = [{(entity.start, entity.end): entity.type for entity in own} for own in entities]
        labels = [
            SPAN_CLASSES.index(gold[row].get((chunks[row].offsets[first][0], chunks[row].offsets[last][1]), ""))
            for row, first, last, _ in spans
        ]
        device = batch.input_ids.device
        logits = self(batch, torch.tensor(spans, device=device).view(-1, 4))
        return F.cross_entropy(logits, torch.tensor(labels, device=device), reduction="sum") / len(chunks)

    def decode(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk]) -> list[list[TokenSpan]]:
        """Return the spans that are classified as entities.

        Of overlapping spans, only the most likely one is returned.
        """
        spans = _candidate_spans(chunks)
        entities: list[list[TokenSpan]] = [[] for _ in chunks]
        if not spans:
            return entities
        logits = self(batch, torch.tensor(spans, device=batch.input_ids.device))
        probability, best = logits.softmax(-1).max(-1)
        for index in probability.argsort(descending=True, stable=True).tolist():
            row, first, last, _ = spans[index]
            overlaps = any(first < stop and start <= last for start, stop, _ in entities[row])
            if best[index] and not overlaps:
                entities[row].append((first, last + 1, SPAN_CLASSES[int(best[index])]))
        return [sorted(row) for row in entities]

    def settings(self) -> dict[str, Any]:
        """Return kind and sizes."""
        return {"kind": "span", "hidden_size": self.hidden_size, "width_embedding_dim": self.width_embedding_dim}


def _candidate_spans(chunks: Sequence[TokenizedChunk]) -> list[tuple[int, int, int, int]]:
    """Return row, first token, last token and number of words of every span of every chunk."""
    spans = []
    for row, chunk in enumerate(chunks):
        words = chunk.word_token_spans()
        for first, (token, _) in enumerate(words):
            for last in range(first, min(first + MAX_SPAN_WORDS, len(words))):
                spans.append((row, token, words[last][1], last - first + 1))
    return spans
