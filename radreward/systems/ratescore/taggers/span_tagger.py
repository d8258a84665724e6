"""Span classification after PURE (Zhong and Chen 2020; RaTEScore, appendix A.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.models.backbone import Backbone
from radreward.models.sentence_tokenizer import Piece, TokenBatch
from radreward.systems.ratescore.taggers.neural import TaggerModel, TokenSpan
from radreward.types import ENTITY_TYPES, Entity

LONGEST_SPAN = 8
"""Words of a span."""
KINDS = ("", *ENTITY_TYPES)
"""No entity, then the types."""


class SpanModel(TaggerModel):
    """A class for every span of at most 8 words: a 3-layer MLP on its first and last token's states and its width.

    Args:
        backbone: What reads the sentences.
        hidden: Width of the MLP's hidden layers; 3096 in the paper.
        width: Size of the embedding of a span's number of words.

    Raises:
        ValueError: If a size is less than 1.
    """

    def __init__(self, backbone: Backbone, hidden: int = 256, width: int = 150) -> None:
        for name, value in (("hidden", hidden), ("width", width)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        super().__init__(backbone)
        self.hidden, self.width = hidden, width
        self.widths = nn.Embedding(LONGEST_SPAN, width)
        self.head = nn.Sequential(
            nn.Linear(2 * self.config.hidden_size + width, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, len(KINDS)),
        )

    def forward(self, batch: TokenBatch, spans: Tensor) -> Tensor:
        """(S, 6) float32 logits of spans (S, 4) int64: row, first token, last token, number of words."""
        states = self.states(batch)
        row, first, last, words = spans.unbind(1)
        logits: Tensor = self.head(torch.cat([states[row, first], states[row, last], self.widths(words - 1)], 1))
        return logits

    def loss(self, batch: TokenBatch, pieces: Sequence[Piece], entities: Sequence[Sequence[Entity]]) -> Tensor:
        """Cross-entropy of the spans' classes, summed over the spans of a piece and averaged over pieces, as in PURE.

        An entity of more than 8 words is no span, and cannot be learnt.
        """
        spans = _spans(pieces)
        known = [{(entity.start, entity.end): entity.type for entity in found} for found in entities]
        wanted = [
            KINDS.index(known[row].get((pieces[row].spans[first][0], pieces[row].spans[last][1]), ""))
            for row, first, last, _ in spans
        ]
        device = batch.input_ids.device
        logits = self(batch, torch.tensor(spans, device=device).view(-1, 4))
        return F.cross_entropy(logits, torch.tensor(wanted, device=device), reduction="sum") / len(pieces)

    def decode(self, batch: TokenBatch, pieces: Sequence[Piece]) -> list[list[TokenSpan]]:
        """The spans whose likeliest class is a type; of those that overlap, the likelier."""
        spans = _spans(pieces)
        found: list[list[TokenSpan]] = [[] for _ in pieces]
        if not spans:
            return found
        logits = self(batch, torch.tensor(spans, device=batch.input_ids.device))
        chance, best = logits.softmax(-1).max(-1)
        for at in chance.argsort(descending=True, stable=True).tolist():
            row, first, last, _ = spans[at]
            taken = any(first < behind and begin <= last for begin, behind, _ in found[row])
            if best[at] and not taken:
                found[row].append((first, last + 1, KINDS[int(best[at])]))
        return [sorted(row) for row in found]

    def settings(self) -> dict[str, Any]:
        """Its kind and sizes."""
        return {"kind": "span", "hidden": self.hidden, "width": self.width}


def _spans(pieces: Sequence[Piece]) -> list[tuple[int, int, int, int]]:
    """Of every span of every piece: row, first token, last token, number of words."""
    found = []
    for row, piece in enumerate(pieces):
        words = piece.words()
        for first, (token, _) in enumerate(words):
            for last in range(first, min(first + LONGEST_SPAN, len(words))):
                found.append((row, token, words[last][1], last - first + 1))
    return found
