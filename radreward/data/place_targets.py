"""Errors by place as tensors, for a loss on the places of errors."""

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
from radreward.types import LocatedErrors, PlaceTargets, PromptSegments, Side

UNKNOWN = -1
"""Place of padding, and of the tokens of a candidate whose places are unknown."""


class TokenPlaces(NamedTuple):
    """Places of one candidate."""

    of_token: Mapping[Side, Tensor]
    """(S,) int64 place of each token of a side's node, `UNKNOWN` without known places."""
    amounts: Tensor
    """(R, N + 2) float32 error counts, matched and wrong weight; NaN if unknown."""


def unknown_places(num_tokens: Mapping[Side, int], num_criteria: int) -> TokenPlaces:
    """Return the places of a candidate whose places are unknown."""
    return TokenPlaces(
        {side: torch.full((count,), UNKNOWN) for side, count in num_tokens.items()}, torch.zeros(0, num_criteria + 2)
    )


def token_places(
    places: Sequence[LocatedErrors],
    segments: PromptSegments,
    num_tokens: Mapping[Side, int],
    criteria: Criteria,
    tokenizer: SegmentTokenizer,
    label: str,
) -> TokenPlaces:
    """Return the place of every token of a candidate and of its reference.

    Every statement that no place names is a place without errors, and so are the tokens outside of all statements.

    Args:
        places: Errors with the statements in which they show.
        segments: Texts of the prompt.
        num_tokens: Number of tokens of both nodes, special ones included.
        criteria: The criteria of the errors.
        tokenizer: Tokenizer of the prompts.
        label: Name of the candidate in messages.

    Raises:
        InputError: If a place names a text that its report lacks, or other criteria.
    """
    texts: dict[Side, str] = {"candidate": segments.candidate, "reference": segments.reference}
    of_token: dict[Side, Tensor] = {}
    amounts: list[Tensor] = []
    for side, text in texts.items():
        is_root = side == "reference" and not segments.instruction
        statements = statement_tokens(text, num_tokens[side], is_root, tokenizer)
        place_of = torch.arange(len(statements.spans) + 1)  # of each statement, and of what is outside
        values = torch.zeros(len(place_of), len(criteria) + 2)
        values[:, -2] = math.nan  # matched findings are not located
        for place in places:
            if place.side == side:
                named = torch.tensor(_statements_of(place, statements, label))
                joined = torch.isin(place_of, place_of[named])
                parts = torch.unique(place_of[joined])
                total = values[parts].sum(0) + _amounts(place, criteria, label)
                values[parts] = 0.0
                values[parts[0]] = total
                place_of[joined] = parts[0]
        of_token[side] = place_of[statements.of_token] + sum(map(len, amounts))
        amounts.append(values)
    return TokenPlaces(of_token, torch.cat(amounts))


def join_places(entries: Sequence[TokenPlaces]) -> PlaceTargets:
    """Return the places of the candidates of a batch, numbered one after the other."""
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
    return PlaceTargets(candidate, reference, torch.cat([entry.amounts for entry in entries]))


def _statements_of(place: LocatedErrors, statements: StatementTokens, label: str) -> list[int]:
    """Return the numbers of the statements that a place names, or parts of which it names."""
    numbers = []
    for quote in place.statements:
        start = statements.text.find(normalize_report(quote))
        if start < 0:
            raise InputError(
                f"{label}, field 'places': Expected a part of the {place.side}'s text but got {quote[:80]!r}."
            )
        end = start + len(normalize_report(quote))
        numbers += [number for number, (first, last) in enumerate(statements.spans) if first < end and start < last]
    return numbers or [len(statements.spans)]


def _amounts(place: LocatedErrors, criteria: Criteria, label: str) -> Tensor:
    if unknown := set(place.errors) - set(criteria.tags):
        raise InputError(
            f"{label}, field 'places': Expected errors by the tags of {criteria.name} but got {', '.join(unknown)}."
        )
    counts = [place.errors.get(tag, 0.0) for tag in criteria.tags]
    return torch.tensor([*counts, math.nan, math.nan if place.wrong is None else place.wrong])
