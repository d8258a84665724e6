"""Token classification by IOB tags (RaTEScore, section 4.4.1 and appendix A.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.data.iob import spans_from_iob
from radreward.models.backbone import Backbone
from radreward.models.sentence_tokenizer import TokenBatch, TokenizedChunk
from radreward.systems.ratescore.taggers.neural import TaggerModel, TokenSpan
from radreward.types import ENTITY_TYPES, Entity

IOB_TAGS = ("O", *(f"{letter}-{kind}" for kind in ENTITY_TYPES for letter in "BI"))
"""O, then B-TYPE and I-TYPE of each type."""
IGNORE_INDEX = -100


class IOBTagger(TaggerModel):
    """A linear layer that predicts one tag per token.

    All tokens of a word get the tag of its first token, so that entities consist of whole words.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.head = nn.Linear(self.config.hidden_size, len(IOB_TAGS))

    def forward(self, batch: TokenBatch) -> Tensor:
        """Return (R, L, 11) float32 logits of the tags."""
        logits: Tensor = self.head(self.states(batch))
        return logits

    def loss(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk], entities: Sequence[Sequence[Entity]]) -> Tensor:
        """Return the cross-entropy of the tags, averaged over tokens with characters."""
        labels = torch.full(batch.input_ids.shape, IGNORE_INDEX)
        for row, (chunk, gold) in enumerate(zip(chunks, entities, strict=True)):
            labels[row, : len(chunk.input_ids)] = torch.tensor(iob_labels(chunk, gold))
        return F.cross_entropy(self(batch).flatten(0, 1), labels.flatten().to(batch.input_ids.device))

    def decode(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk]) -> list[list[TokenSpan]]:
        """Return the entities of the most likely tags."""
        best = self(batch).argmax(-1).tolist()
        return [decode_iob(chunk, [IOB_TAGS[tag] for tag in row]) for chunk, row in zip(chunks, best, strict=True)]

    def settings(self) -> dict[str, Any]:
        """Return the kind."""
        return {"kind": "iob"}


def iob_labels(chunk: TokenizedChunk, entities: Sequence[Entity]) -> list[int]:
    """Return the tag of each token as an index in `IOB_TAGS`; `IGNORE_INDEX` for tokens without characters.

    >>> edema = Entity("edema", "Disease", 3, 8)
    >>> chunk = TokenizedChunk(0, "no edema", 0, (7, 8, 9), ((0, 2), (3, 5), (5, 8)))
    >>> [IOB_TAGS[label] for label in iob_labels(chunk, [edema])]
    ['O', 'B-Disease', 'I-Disease']
    """
    labels = [IGNORE_INDEX if start == end else 0 for start, end in chunk.offsets]
    for entity in entities:
        letter = "B"
        for token, (start, end) in enumerate(chunk.offsets):
            if start < end and start < entity.end and end > entity.start:
                labels[token] = IOB_TAGS.index(f"{letter}-{entity.type}")
                letter = "I"
    return labels


def decode_iob(chunk: TokenizedChunk, tags: Sequence[str]) -> list[TokenSpan]:
    """Return the entities of token tags. Each word has the tag of its first token."""
    words = chunk.word_token_spans()
    return [
        (words[first][0], words[stop - 1][1] + 1, kind)
        for first, stop, kind in spans_from_iob([tags[word[0]] for word in words])
    ]
