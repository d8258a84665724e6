"""Token classification by IOB tags (RaTEScore, section 4.4.1 and appendix A.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.data.entity_io import spans_from_iob
from radreward.models.backbone import Backbone
from radreward.models.sentence_tokenizer import TokenBatch, TokenizedChunk
from radreward.systems.ratescore.taggers.neural import TaggerModel, TokenSpan
from radreward.types import ENTITY_TYPES, Entity

IOB_TAGS = ("O", *(f"{letter}-{kind}" for kind in ENTITY_TYPES for letter in "BI"))
"""O, then B and I of each type."""
IGNORE_INDEX = -100


class IOBTagger(TaggerModel):
    """A tag for every token: a linear layer on its state.

    The tokens of a word take the tag of the first: an entity begins and ends where words do.

    Args:
        backbone: What reads the sentences.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.head = nn.Linear(self.config.hidden_size, len(IOB_TAGS))

    def forward(self, batch: TokenBatch) -> Tensor:
        """(R, L, 11) float32 logits of the tags."""
        logits: Tensor = self.head(self.states(batch))
        return logits

    def loss(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk], entities: Sequence[Sequence[Entity]]) -> Tensor:
        """Cross-entropy of the tags, the mean over tokens that stand for characters."""
        wanted = torch.full(batch.input_ids.shape, IGNORE_INDEX)
        for row, (piece, known) in enumerate(zip(chunks, entities, strict=True)):
            wanted[row, : len(piece.input_ids)] = torch.tensor(iob_labels(piece, known))
        return F.cross_entropy(self(batch).flatten(0, 1), wanted.flatten().to(batch.input_ids.device))

    def decode(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk]) -> list[list[TokenSpan]]:
        """The entities of the likeliest tags."""
        best = self(batch).argmax(-1).tolist()
        return [decode_iob(piece, [IOB_TAGS[tag] for tag in row]) for piece, row in zip(chunks, best, strict=True)]

    def settings(self) -> dict[str, Any]:
        """Its kind."""
        return {"kind": "iob"}


def iob_labels(chunk: TokenizedChunk, entities: Sequence[Entity]) -> list[int]:
    """The tag of each token, as a place in `TAGS`; `IGNORED` for tokens that stand for no characters.

    >>> edema = Entity("edema", "Disease", 3, 8)
    >>> [TAGS[tag] for tag in tag_numbers(Piece(0, "no edema", 0, (7, 8, 9), ((0, 2), (3, 5), (5, 8))), [edema])]
    ['O', 'B-Disease', 'I-Disease']
    """
    numbers = [IGNORE_INDEX if start == end else 0 for start, end in chunk.offsets]
    for entity in entities:
        letter = "B"
        for at, (start, end) in enumerate(chunk.offsets):
            if start < end and start < entity.end and end > entity.start:
                numbers[at] = IOB_TAGS.index(f"{letter}-{entity.type}")
                letter = "I"
    return numbers


def decode_iob(chunk: TokenizedChunk, tags: Sequence[str]) -> list[TokenSpan]:
    """Entities of tokens' tags, each word taking the tag of its first token."""
    words = chunk.word_token_spans()
    return [
        (words[first][0], words[behind - 1][1] + 1, kind)
        for first, behind, kind in spans_from_iob([tags[word[0]] for word in words])
    ]
