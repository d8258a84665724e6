"""Located errors as tensors: the statement of every token, and the errors of every statement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from radreward.criteria import Criteria
from radreward.data.statement_tokens import StatementTokens, statement_tokens
from radreward.data.tokenizer import SegmentTokenizer
from radreward.errors import InputError
from radreward.text.normalization import normalize_report
from radreward.types import LocatedError, LocatedErrorTargets, PromptSegments, Side

UNKNOWN = -1
"""Statement of padding, and of the tokens of a candidate whose errors are not located."""


class StatementErrors(NamedTuple):
    """Statements of a candidate and its reference with their errors; statements that share errors count as one."""

    of_token: Mapping[Side, Tensor]
    """(S,) int64 statement of each token of a side's node, `UNKNOWN` if its errors are not located."""
    amounts: Tensor
    """(R, N + 2) float32 error counts, matched and wrong weight of each statement; NaN if unknown."""


def unknown_statement_errors(num_tokens: Mapping[Side, int], num_criteria: int) -> StatementErrors:
    """Return empty `StatementErrors`, for a candidate without located errors."""
    return StatementErrors(
        {side: torch.full((count,), UNKNOWN) for side, count in num_tokens.items()}, torch.zeros(0, num_criteria + 2)
    )


def statement_errors(
    located_errors: Sequence[LocatedError],
    segments: PromptSegments,
    num_tokens: Mapping[Side, int],
    criteria: Criteria,
    tokenizer: SegmentTokenizer,
    label: str,
) -> StatementErrors:
    """Return the statement of every token of a candidate and of its reference, and the errors of every statement.

    Statements that share an error become one. The tokens outside all statements count as a statement without errors.

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
    texts = {Side.CANDIDATE: segments.candidate, Side.REFERENCE: segments.reference}
    of_token: dict[Side, Tensor] = {}
    amounts: list[Tensor] = []
    for side, text in texts.items():
        is_root = side is Side.REFERENCE and not segments.instruction
        statements = statement_tokens(text, num_tokens[side], is_root, tokenizer)
        joined_to = torch.arange(len(statements.spans) + 1)  # the last one: tokens outside all statements
        values = torch.zeros(len(joined_to), len(criteria) + 2)
        values[:, -2] = math.nan  # matched findings are not located
        for entry in located_errors:
            if entry.side == side:
                stating = torch.tensor(_statements_of(entry, statements, label))
                joined = torch.isin(joined_to, joined_to[stating])
                parts = torch.unique(joined_to[joined])
                total = values[parts].sum(0) + _amounts(entry, criteria, label)
                values[parts] = 0.0
                values[parts[0]] = total
                joined_to[joined] = parts[0]
        of_token[side] = joined_to[statements.of_token] + sum(map(len, amounts))
        amounts.append(values)
    return StatementErrors(of_token, torch.cat(amounts))


def located_error_targets(entries: Sequence[StatementErrors]) -> LocatedErrorTargets:
    """Return the statements of the candidates of a batch, numbered one after the other."""
    starts = torch.tensor([0, *(len(entry.amounts) for entry in entries[:-1])]).cumsum(0).tolist()

    def padded(side: Side) -> Tensor:
        rows = [entry.of_token[side] for entry in entries]
        numbered = [torch.where(row == UNKNOWN, UNKNOWN, row + start) for row, start in zip(rows, starts, strict=True)]
        return pad_sequence(numbered, batch_first=True, padding_value=UNKNOWN)

    amounts = torch.cat([entry.amounts for entry in entries])
    return LocatedErrorTargets(padded(Side.CANDIDATE), padded(Side.REFERENCE), amounts)


def _statements_of(entry: LocatedError, statements: StatementTokens, label: str) -> list[int]:
    """Return the numbers of the statements in which errors show.

    A quote selects all statements with exactly its text or, if there are none, the statements that its first occurrence
    overlaps. In "no effusion. effusion.", the quote "effusion." selects the second statement.
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


def _amounts(entry: LocatedError, criteria: Criteria, label: str) -> Tensor:
    if unknown := sorted(set(entry.errors) - set(criteria.tags)):
        raise InputError(
            f"{label}, field 'located_errors': Expected errors by the tags of {criteria.name} "
            f"but got {', '.join(unknown)}."
        )
    counts = [entry.errors.get(tag, 0.0) for tag in criteria.tags]
    return torch.tensor([*counts, math.nan, math.nan if entry.wrong is None else entry.wrong])
