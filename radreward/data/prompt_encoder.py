"""Prompts as tokens of limited length, the same in training and in use."""

from __future__ import annotations

from typing import Literal

from radreward.criteria import Criteria
from radreward.data.tokenizer import SegmentTokenizer, load_tokenizer
from radreward.errors import TooLongError
from radreward.prompts import PromptTemplate
from radreward.text.normalization import normalize_report
from radreward.text.unrelated import is_unrelated
from radreward.types import PromptSegments, TokenPath

OnTooLong = Literal["error", "truncate"]
"""Handling of a prompt over the limit: raise an error that names it, or truncate both reports."""


class PromptTooLongError(ValueError):
    """A prompt over the limit; states its number of tokens and the limit."""


class PromptEncoder:
    """Encodes two reports as token segments of a limited total length.

    Args:
        tokenizer: Name of the backbone whose tokenizer to use.
        criteria: The criteria of the prompt.
        template: Layout of the prompt.
        max_length: Maximum number of tokens from the root to the candidate's end.

    Raises:
        ValueError: If `max_length` is not positive.
    """

    def __init__(self, tokenizer: str, criteria: Criteria, template: PromptTemplate, max_length: int) -> None:
        if max_length < 1:
            raise ValueError(f"Expected `max_length` to be >= 1 but got {max_length}.")
        self.segment_tokenizer = SegmentTokenizer(
            load_tokenizer(tokenizer), template.standardizes_reports, template.reads
        )
        self.criteria = criteria
        self.template = template
        self.max_length = max_length

    def token_segments(self, reference: str, candidate: str) -> list[list[int]]:
        """Return the token ids of each segment of a prompt, from the root to the candidate; never truncated."""
        return self.segment_tokenizer.encode_segments(self.render(reference, candidate))

    def token_path(self, reference: str, candidate: str) -> TokenPath:
        """Return the tokens of a prompt, with the candidate's statements apart if the template separates them."""
        *shared, own = map(tuple, self.token_segments(reference, candidate))
        if not (shared and self.template.separates_statements):  # without a reference, the candidate is the root
            return TokenPath(tuple(shared), (own,))
        statements = self.segment_tokenizer.encode_statements(normalize_report(candidate))
        unrelated = [is_unrelated(statement.text, normalize_report(reference)) for statement in statements]
        return TokenPath(
            tuple(shared),
            tuple(statement.tokens for statement in statements),
            tuple(unrelated) if any(unrelated) else (),
        )

    def render(self, reference: str, candidate: str) -> PromptSegments:
        """Return the texts of a prompt, with both reports normalized as in scoring."""
        return self.template.render(normalize_report(reference), normalize_report(candidate), self.criteria)

    def encode(self, reference: str, candidate: str, truncate: bool) -> tuple[TokenPath, bool]:
        """Return the tokens within the limit, and True if a report was truncated.

        Truncation keeps the beginnings of reference and candidate, in equal shares, and all of the template.

        Raises:
            PromptTooLongError: If the prompt is over the limit and `truncate` is off, or the template leaves no room.
        """
        path = self.token_path(reference, candidate)
        length = path.num_tokens
        if length <= self.max_length:
            return path, False
        if not truncate:
            raise PromptTooLongError(f"Expected at most {self.max_length} tokens but the prompt has {length}")
        shorten = self.segment_tokenizer.truncate
        lengths = [self.segment_tokenizer.length(text) for text in (reference, candidate)]
        room = self.max_length - (length - sum(lengths))
        while room >= 2:
            share = min(lengths[0], max(room // 2, room - lengths[1]))
            path = self.token_path(shorten(reference, share), shorten(candidate, room - share))
            if path.num_tokens <= self.max_length:
                return path, True
            room -= 1  # a word that is split may have more tokens than before
        raise PromptTooLongError(
            f"Expected room for two reports, but the template leaves none of {self.max_length} tokens"
        )

    def encode_or_raise(
        self, reference: str, candidate: str, on_too_long: OnTooLong, label: str
    ) -> tuple[TokenPath, bool]:
        """Return what `encode` returns.

        Raises:
            TooLongError: If the prompt is too long; the message starts with `label` and names the remedy.
        """
        try:
            return self.encode(reference, candidate, on_too_long == "truncate")
        except PromptTooLongError as error:
            remedy = "on_too_long to truncate, or a larger max_length"
            raise TooLongError(
                f"{label}: {error}. Set {remedy if on_too_long == 'error' else 'a larger max_length'}."
            ) from error
