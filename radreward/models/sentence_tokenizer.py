"""Sentences as tokens that know which characters they stand for, in batches of like length."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedTokenizerBase

from radreward.errors import InputError
from radreward.models.attention import OFFSET_POSITION_TYPES

MAX_BATCH_TOKENS = 512
"""Tokens of a batch, padding included: on a CPU few are faster, because sentences of one length are more alike."""
MAX_CHUNK_TOKENS = 512
"""Tokens of a piece, where the architecture sets no lower limit."""
WORD_PATTERN = re.compile(r"[^\W_]+|[^\w\s]|_")
"""A word, or a sign that stands for itself."""


class TokenizedChunk(NamedTuple):
    """A sentence, or a part of one that is too long for the model, as tokens."""

    sentence_index: int
    """Which sentence."""
    text: str
    start: int
    """Where in the sentence the text begins."""
    input_ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    """The characters of the text that each token stands for; equal ends where it stands for none."""

    def word_token_spans(self) -> list[tuple[int, int]]:
        """First and last token of each word; words of which no token is left are left out."""
        starts = [match.start() for match in WORD_PATTERN.finditer(self.text)]
        found: dict[int, tuple[int, int]] = {}
        for at, (start, end) in enumerate(self.offsets):
            if start < end:
                word = bisect.bisect_right(starts, start) - 1
                found[word] = (found.get(word, (at, at))[0], at)
        return [found[word] for word in sorted(found)]


class TokenBatch(NamedTuple):
    """Pieces side by side."""

    input_ids: Tensor
    """(R, L) int64."""
    attention_mask: Tensor
    """(R, L) int64: 1 for tokens, 0 for padding."""


def max_chunk_tokens(config: PreTrainedConfig) -> int:
    """How many tokens a piece may have for a model."""
    limit = getattr(config, "max_position_embeddings", None) or MAX_CHUNK_TOKENS
    if config.model_type in OFFSET_POSITION_TYPES:
        limit -= config.pad_token_id + 1
    return min(MAX_CHUNK_TOKENS, limit)


class SentenceTokenizer:
    """Tokenizes sentences, special tokens of the tokenizer around them.

    Args:
        tokenizer: A fast one: only these say which characters a token stands for.
        limit: Tokens of a piece; a longer sentence becomes several, parted at white space.

    Raises:
        InputError: If the tokenizer is not a fast one.

    >>> from radreward.data.tokenizer import byte_tokenizer
    >>> tokens = SentenceTokens(byte_tokenizer(encoder=True), limit=6)
    >>> [(piece.text, piece.begin, len(piece.ids)) for piece in tokens.pieces(0, "no edema")]
    [('no', 0, 2), ('edema', 3, 5)]
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> None:
        if not tokenizer.is_fast:
            raise InputError(f"{tokenizer.name_or_path}: Expected a fast tokenizer, with tokenizer.json.")
        self.tokenizer, self.max_tokens = tokenizer, max_tokens
        self.pad_token_id = tokenizer.pad_token_id or 0

    def chunks(self, sentence_index: int, text: str, start: int = 0) -> list[TokenizedChunk]:
        """The tokens of a sentence; none if it is empty."""
        if not text.strip():
            return []
        # split_special_tokens: a report that says "[SEP]" says five characters.
        encoded = self.tokenizer(text, return_offsets_mapping=True, split_special_tokens=True, verbose=False)
        ids, spans = encoded["input_ids"], encoded["offset_mapping"]
        if len(ids) <= self.max_tokens:
            return [
                TokenizedChunk(
                    sentence_index, text, start, tuple(ids), tuple(_strip_leading_space(text, *span) for span in spans)
                )
            ]
        cut = _split_position(text, spans[self.max_tokens // 2][0])
        rest = text[cut:].lstrip()
        return self.chunks(sentence_index, text[:cut].rstrip(), start) + self.chunks(
            sentence_index, rest, start + len(text) - len(rest)
        )

    def collate(self, chunks: Sequence[TokenizedChunk]) -> TokenBatch:
        """Pieces as tensors, padded to the longest."""
        width = max(len(piece.input_ids) for piece in chunks)
        ids = torch.full((len(chunks), width), self.pad_token_id)
        mask = torch.zeros_like(ids)
        for row, piece in enumerate(chunks):
            ids[row, : len(piece.input_ids)] = torch.tensor(piece.input_ids)
            mask[row, : len(piece.input_ids)] = 1
        return TokenBatch(ids, mask)


def length_batches(
    chunks: Sequence[TokenizedChunk], max_tokens: int = MAX_BATCH_TOKENS
) -> Iterator[list[TokenizedChunk]]:
    """Batches of pieces, the shortest first, each of at most so many tokens with its padding.

    >>> pieces = [Piece(row, "", 0, (1,) * size, ()) for row, size in enumerate((3, 1, 2))]
    >>> [[piece.row for piece in batch] for batch in by_length(pieces, tokens=4)]
    [[1, 2], [0]]
    """
    batch: list[TokenizedChunk] = []
    for piece in sorted(chunks, key=lambda piece: len(piece.input_ids)):
        if batch and len(piece.input_ids) * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch


def _strip_leading_space(text: str, start: int, end: int) -> tuple[int, int]:
    """Without white space at its beginning, which tokens of sentencepiece count as theirs."""
    while start < end and text[start].isspace():
        start += 1
    return start, end


def _split_position(text: str, near: int) -> int:
    """Where to part a text: at the last white space before a place, or at the place."""
    space = max(text.rfind(" ", 1, near + 1), 0)
    return space or max(near, 1)
