"""The part of a sentence whose modifiers belong to the name of a finding."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from radreward.text.locations import find_both_sides
from radreward.text.read_names import Mention

CLAUSE = re.compile(
    r"\s*[,;:]\s+|\s+(?:and|with|but|or|nor|which|while|whereas|although|though|however|associated|in the setting of|"
    r"accompan(?:ied by|ies|y|ying)|on (?:a )?background of|superimposed (?:up)?on)\s+|\.\s"
)
_CALLED_NORMAL = re.compile(
    r"^(?!.*\b(?:in|on|which|that)\b).*\b(?:is|are|appears?|remains?) "
    r"(?:(?:again|grossly|now|otherwise|still|well) )?(?:clear|normal|unremarkable|intact)\b"
)
"""A clause that calls something normal, but does not say where the rest of the sentence is."""
_STATEMENT_BEFORE = re.compile(
    r"(?:[;.]|\b(?:aerated|expanded|are|has|have|is|was|were)\b[^;.]*(?:,|\b(?:but|whereas|while)))\s*$"
)


def mention_scopes(mentions: Sequence[Mention], masked: str) -> list[tuple[int, int]]:
    """Return the part of the sentence whose modifiers belong to each mention.

    A scope is the clause of the mention, and the clauses without a mention after it.
    """
    sides = [match.span() for match in find_both_sides(masked)]
    ends = [match.end() for match in CLAUSE.finditer(masked)]
    clause_starts = [0, *(end for end in ends if not any(first < end < last for first, last in sides))]
    scopes = []
    for index, mention in enumerate(mentions):
        floor = mentions[index - 1].end if index else 0
        is_last = index + 1 == len(mentions)
        ceiling = len(masked) if is_last else mentions[index + 1].start
        clause = bisect_right(clause_starts, mention.start)
        start = clause_starts[clause - 1]
        if not index and not _names_other_side(masked[:start], masked[start : mention.start]):
            start = _end_of_normal_clauses(masked, clause_starts[:clause])
        end = ceiling if is_last else clause_starts[bisect_right(clause_starts, ceiling) - 1]
        scopes.append((max(floor, start), end if end >= mention.end else ceiling))
    return scopes


def _names_other_side(before: str, own: str) -> bool:
    """Return True if a text states something of one side, and the clause after it names only the other one."""
    if not _STATEMENT_BEFORE.search(before):
        return False
    sides, others = ({*re.findall(r"\b(?:left|right)\b", text)} for text in (own, before))
    return len(sides) == len(others) == 1 and sides != others


def _end_of_normal_clauses(masked: str, clause_starts: list[int]) -> int:
    """Return the end of the last clause that calls something normal; 0 if there is none.

    Other clauses before the first name of a sentence have its place or degree, as in "on the left, there is".
    """
    clauses = pairwise(clause_starts)
    return max((end for start, end in clauses if _CALLED_NORMAL.match(masked[start:end])), default=0)
