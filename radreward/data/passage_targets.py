"""Errors by passage as tensors: a passage is a statement, or several that share errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from radreward.criteria import Criteria
from radreward.data.statement_tokens import StatementTokens, statement_tokens
from radreward.data.tokenizer import SegmentTokenizer
from radreward.errors import InputError
from radreward.text.normalization import normalize_report
from radreward.types import LocatedErrors, PassageTargets, PromptSegments, Side

UNKNOWN = -1
"""Passage of padding, and of the tokens of a candidate whose errors are not located."""


class TokenPassages(NamedTuple):
    """Passages of one candidate and of its reference."""

    of_token: Mapping[Side, Tensor]
    """(S,) int64 passage of each token of a side's node, `UNKNOWN` if its errors are not located."""
    amounts: Tensor
    """(R, N + 2) float32 error counts, matched and wrong weight of each passage; NaN if unknown."""


def unknown_passages(num_tokens: Mapping[Side, int], num_criteria: int) -> TokenPassages:
    """Return the passages of a candidate whose errors are not located: none."""
    return TokenPassages(
        {side: torch.full((count,), UNKNOWN) for side, count in num_tokens.items()}, torch.zeros(0, num_criteria + 2)
    )


def token_passages(
    located_errors: Sequence[LocatedErrors],
    segments: PromptSegments,
    num_tokens: Mapping[Side, int],
    criteria: Criteria,
    tokenizer: SegmentTokenizer,
    label: str,
) -> TokenPassages:
    """Return the passage of every token of a candidate and of its reference.

    Every statement without a located error is a passage without errors, and so are the tokens outside of all
    statements.

    Args:
        located_errors: Errors with the statements in which they show.
        segments: Texts of the prompt.
        num_tokens: Number of tokens of both nodes, special ones included.
        criteria: The criteria of the errors.
        tokenizer: Tokenizer of the prompts.
        label: Name of the candidate in messages.

    Raises:
        InputError: If a located error has a statement that its report lacks, or other criteria.
    """
    texts: dict[Side, str] = {"candidate": segments.candidate, "reference": segments.reference}
    of_token: dict[Side, Tensor] = {}
    amounts: list[Tensor] = []
    for side, text in texts.items():
        is_root = side == "reference" and not segments.instruction
        statements = statement_tokens(text, num_tokens[side], is_root, tokenizer)
        passage_of = torch.arange(len(statements.spans) + 1)  # of each statement, and of what is outside
        values = torch.zeros(len(passage_of), len(criteria) + 2)
        values[:, -2] = math.nan  # matched findings are not located
        for entry in located_errors:
            if entry.side == side:
                stating = torch.tensor(_statements_of(entry, statements, label))
                joined = torch.isin(passage_of, passage_of[stating])
                parts = torch.unique(passage_of[joined])
                total = values[parts].sum(0) + _amounts(entry, criteria, label)
                values[parts] = 0.0
                values[parts[0]] = total
                passage_of[joined] = parts[0]
        of_token[side] = passage_of[statements.of_token] + sum(map(len, amounts))
        amounts.append(values)
    return TokenPassages(of_token, torch.cat(amounts))


def join_passages(entries: Sequence[TokenPassages]) -> PassageTargets:
    """Return the passages of the candidates of a batch, numbered one after the other."""
    starts = torch.tensor([0, *(len(entry.amounts) for entry in entries[:-1])]).cumsum(0).tolist()
    candidate, reference = (
        pad_sequence(
            [
                torch.where(entry.of_token[side] == UNKNOWN, UNKNOWN, entry.of_token[side] + start)
                for entry, start in zip(entries, starts, strict=True)
            ],
            batch_first=True,
            padding_value=UNKNOWN,
        )
        for side in get_args(Side)
    )
    return PassageTargets(candidate, reference, torch.cat([entry.amounts for entry in entries]))


def _statements_of(entry: LocatedErrors, statements: StatementTokens, label: str) -> list[int]:
    """Return the numbers of the statements in which errors show.

    A quote stands for all statements with exactly its text, or else for those that its first occurrence touches: of
    "no effusion. effusion.", the quote "effusion." is the second statement.
    """
    numbers: set[int] = set()
    for quote in map(normalize_report, entry.statements):
        equal = {number for number in range(len(statements.spans)) if statements.words(number) == quote}
        numbers |= equal or _touched_statements(quote, statements)
        if not equal and quote not in statements.text:
            raise InputError(
                f"{label}, field 'located_errors': Expected a part of the {entry.side}'s text but got {quote[:80]!r}."
            )
    return sorted(numbers) or [len(statements.spans)]


def _touched_statements(quote: str, statements: StatementTokens) -> set[int]:
    start = statements.text.find(quote)
    end = start + len(quote)
    return {number for number, (first, last) in enumerate(statements.spans) if first < end and start < last}


def _amounts(entry: LocatedErrors, criteria: Criteria, label: str) -> Tensor:
    if unknown := sorted(set(entry.errors) - set(criteria.tags)):
        raise InputError(
            f"{label}, field 'located_errors': Expected errors by the tags of {criteria.name} "
            f"but got {', '.join(unknown)}."
        )
    counts = [entry.errors.get(tag, 0.0) for tag in criteria.tags]
    return torch.tensor([*counts, math.nan, math.nan if entry.wrong is None else entry.wrong])
