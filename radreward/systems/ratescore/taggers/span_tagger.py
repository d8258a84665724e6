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
"""Words of a span."""
SPAN_CLASSES = ("", *ENTITY_TYPES)
"""No entity, then the types."""


class SpanTagger(TaggerModel):
    """A class for every span of at most 8 words: a 3-layer MLP on its first and last token's states and its width.

    Args:
        backbone: What reads the sentences.
        hidden: Width of the MLP's hidden layers; 3096 in the paper.
        width: Size of the embedding of a span's number of words.

    Raises:
        ValueError: If a size is less than 1.
    """

    def __init__(self, backbone: Backbone, hidden_size: int = 256, width_embedding_dim: int = 150) -> None:
        for name, value in (("hidden", hidden_size), ("width", width_embedding_dim)):
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
        """(S, 6) float32 logits of spans (S, 4) int64: row, first token, last token, number of words."""
        states = self.states(batch)
        row, first, last, words = spans.unbind(1)
        logits: Tensor = self.head(torch.cat([states[row, first], states[row, last], self.widths(words - 1)], 1))
        return logits

    def loss(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk], entities: Sequence[Sequence[Entity]]) -> Tensor:
        """Cross-entropy of the spans' classes, summed over the spans of a piece and averaged over pieces, as in PURE.

        An entity of more than 8 words is no span, and cannot be learnt.
        """
        spans = _candidate_spans(chunks)
        known = [{(entity.start, entity.end): entity.type for entity in found} for found in entities]
        wanted = [
            SPAN_CLASSES.index(known[row].get((chunks[row].offsets[first][0], chunks[row].offsets[last][1]), ""))
            for row, first, last, _ in spans
        ]
        device = batch.input_ids.device
        logits = self(batch, torch.tensor(spans, device=device).view(-1, 4))
        return F.cross_entropy(logits, torch.tensor(wanted, device=device), reduction="sum") / len(chunks)

    def decode(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk]) -> list[list[TokenSpan]]:
        """The spans whose likeliest class is a type; of those that overlap, the likelier."""
        spans = _candidate_spans(chunks)
        found: list[list[TokenSpan]] = [[] for _ in chunks]
        if not spans:
            return found
        logits = self(batch, torch.tensor(spans, device=batch.input_ids.device))
        chance, best = logits.softmax(-1).max(-1)
        for at in chance.argsort(descending=True, stable=True).tolist():
            row, first, last, _ = spans[at]
            taken = any(first < behind and begin <= last for begin, behind, _ in found[row])
            if best[at] and not taken:
                found[row].append((first, last + 1, SPAN_CLASSES[int(best[at])]))
        return [sorted(row) for row in found]

    def settings(self) -> dict[str, Any]:
        """Its kind and sizes."""
        return {"kind": "span", "hidden": self.hidden_size, "width": self.width_embedding_dim}


def _candidate_spans(chunks: Sequence[TokenizedChunk]) -> list[tuple[int, int, int, int]]:
    """Of every span of every piece: row, first token, last token, number of words."""
    found = []
    for row, piece in enumerate(chunks):
        words = piece.word_token_spans()
        for first, (token, _) in enumerate(words):
            for last in range(first, min(first + MAX_SPAN_WORDS, len(words))):
                found.append((row, token, words[last][1], last - first + 1))
    return found
