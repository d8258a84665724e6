"""Statements of a report, and the tokens of each."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.data.tokenizer import SegmentTokenizer
from radreward.text.sentence_splitter import CACHED_REPORTS, sentence_spans


class StatementTokens(NamedTuple):
    """M statements of a text."""

    text: str
    spans: tuple[tuple[int, int], ...]
    """Start and end of each statement."""
    of_token: Tensor
    """(S,) int64: statement of each token; M outside all statements."""

    def words(self, index: int) -> str:
        """Return the text of a statement."""
        return self.text[slice(*self.spans[index])]


@lru_cache(CACHED_REPORTS)  # all candidates of a group have the same reference
def statement_tokens(text: str, num_tokens: int, is_root: bool, tokenizer: SegmentTokenizer) -> StatementTokens:
    """Return the statements of a segment of a prompt.

    Args:
        text: The segment.
        num_tokens: Number of its tokens (S) in the prompt, special ones included; lower if the prompt was truncated.
        is_root: True for the first segment, which starts with the tokenizer's first token.
        tokenizer: Tokenizer of the segment.
    """
    spans = sentence_spans(text)
    of_token = [len(spans)] * num_tokens
    first = tokenizer.num_prefix_tokens if is_root else 0
    starts = [start for start, _ in spans]
    for index, (start, _) in enumerate(tokenizer.offsets(text)[: num_tokens - first], first):
        number = bisect_right(starts, start) - 1  # tokens may be in another order than the text
        if number >= 0 and start < spans[number][1]:
            of_token[index] = number
    return StatementTokens(text, spans, torch.tensor(of_token, dtype=torch.int64))
