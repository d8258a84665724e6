"""Tokenization of sentences with character offsets, in batches of similar length."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.data.tokenizer import TextTokenizer
from radreward.errors import InputError
from radreward.models.bert import BackboneConfig
from radreward.models.transformers_attention import position_offset

MAX_BATCH_TOKENS = 512
"""Tokens per batch, including padding: small batches are faster on a CPU, since their sentences have similar length."""
_MAX_CHUNK_TOKENS = 512
"""Tokens per chunk, if the architecture sets no lower limit."""
WORD_PATTERN = re.compile(r"[^\W_]+|[^\w\s]|_")
"""A word or a single sign."""


class TokenizedChunk(NamedTuple):
    """Tokens of a sentence, or of a part of a sentence that is too long for the model."""

    sentence_index: int
    """Index of the sentence."""
    text: str
    start: int
    """Offset of the text in the sentence."""
    input_ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    """Start and end of each token in the text; equal for tokens without characters."""

    def word_token_spans(self) -> list[tuple[int, int]]:
        """Return the first and last token of each word that has tokens."""
        starts = [match.start() for match in WORD_PATTERN.finditer(self.text)]
        spans: dict[int, tuple[int, int]] = {}
        for token, (start, end) in enumerate(self.offsets):
            if start < end:
                word = bisect.bisect_right(starts, start) - 1
                spans[word] = (spans.get(word, (token, token))[0], token)
        return [spans[word] for word in sorted(spans)]


class TokenBatch(NamedTuple):
    """Padded chunks."""

    input_ids: Tensor
    """(R, L) int64."""
    attention_mask: Tensor
    """(R, L) int64: 1 for tokens, 0 for padding."""


def max_chunk_tokens(config: BackboneConfig) -> int:
    """Return the maximum number of tokens per chunk of a model."""
    limit = getattr(config, "max_position_embeddings", None) or _MAX_CHUNK_TOKENS
    return min(_MAX_CHUNK_TOKENS, limit - position_offset(config))


class SentenceTokenizer:
    """Tokenizes sentences, with the special tokens of the tokenizer.

    Args:
        tokenizer: A fast tokenizer: only these return offsets.
        max_tokens: Maximum number of tokens per chunk; a longer sentence is split at white space.

    Raises:
        InputError: If the tokenizer is not a fast one.

    >>> from radreward.data.tokenizer import byte_tokenizer
    >>> tokenizer = SentenceTokenizer(byte_tokenizer(encoder=True), max_tokens=6)
    >>> [(chunk.text, chunk.start, len(chunk.input_ids)) for chunk in tokenizer.chunks(0, "no edema")]
    [('no', 0, 2), ('edema', 3, 5)]
    """

    def __init__(self, tokenizer: TextTokenizer, max_tokens: int) -> None:
        if not tokenizer.is_fast:
            raise InputError(f"{tokenizer.name_or_path}: Expected a fast tokenizer, with tokenizer.json.")
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.pad_token_id = tokenizer.pad_token_id or 0

    def chunks(self, sentence_index: int, text: str, start: int = 0) -> list[TokenizedChunk]:
        """Return the chunks of a sentence; none if it is empty."""
        if not text.strip():
            return []
        # split_special_tokens: "[SEP]" in a report is ordinary text.
        encoded = self.tokenizer(text, return_offsets_mapping=True, split_special_tokens=True, verbose=False)
        ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
        if len(ids) <= self.max_tokens:
            stripped = tuple(_strip_leading_space(text, *offset) for offset in offsets)
            return [TokenizedChunk(sentence_index, text, start, tuple(ids), stripped)]
        split = _split_position(text, offsets[self.max_tokens // 2][0])
        rest = text[split:].lstrip()
        return [
            *self.chunks(sentence_index, text[:split].rstrip(), start),
            *self.chunks(sentence_index, rest, start + len(text) - len(rest)),
        ]

    def collate(self, chunks: Sequence[TokenizedChunk]) -> TokenBatch:
        """Return chunks as tensors, padded to the longest."""
        width = max(len(chunk.input_ids) for chunk in chunks)
        ids = torch.full((len(chunks), width), self.pad_token_id)
        mask = torch.zeros_like(ids)
        for row, chunk in enumerate(chunks):
            ids[row, : len(chunk.input_ids)] = torch.tensor(chunk.input_ids)
            mask[row, : len(chunk.input_ids)] = 1
        return TokenBatch(ids, mask)


def length_batches(
    chunks: Sequence[TokenizedChunk], max_tokens: int = MAX_BATCH_TOKENS
) -> Iterator[list[TokenizedChunk]]:
    """Yield batches of chunks, the shortest first, each of at most `max_tokens` tokens including padding.

    >>> chunks = [TokenizedChunk(row, "", 0, (1,) * size, ()) for row, size in enumerate((3, 1, 2))]
    >>> [[chunk.sentence_index for chunk in batch] for batch in length_batches(chunks, max_tokens=4)]
    [[1, 2], [0]]
    """
    batch: list[TokenizedChunk] = []
    for chunk in sorted(chunks, key=lambda chunk: len(chunk.input_ids)):
        if batch and len(chunk.input_ids) * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(chunk)
    if batch:
        yield batch


def _strip_leading_space(text: str, start: int, end: int) -> tuple[int, int]:
    """Exclude leading white space, which tokens of SentencePiece include."""
    while start < end and text[start].isspace():
        start += 1
    return start, end


def _split_position(text: str, near: int) -> int:
    """Return the last white space before a position, or the position if there is none."""
    space = max(text.rfind(" ", 1, near + 1), 0)
    return space or max(near, 1)
