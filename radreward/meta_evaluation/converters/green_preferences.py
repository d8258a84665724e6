"""Preferences between two candidates (GREEN, section 3.4.2): an expert's choice, and how sure the expert is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from radreward.data.records import RowError, text_field
from radreward.io.validated_rows import number_field, raise_row_errors, read_validated_rows
from radreward.meta_evaluation.preferences import Preference, PreferredCandidate

_CHOICES: dict[str, PreferredCandidate] = {"1": "one", "2": "other", "0": "neither"}


class _Vote(NamedTuple):
    case_id: str
    reference: str
    candidates: tuple[str, str]
    choice: PreferredCandidate
    confidence: float | None


def read_green_preferences(source: Path) -> Iterator[Preference]:
    """A preference for each case; where experts differ, neither candidate is preferred, as in the paper.

    Rows have `reference`, `candidate1`, `candidate2`, `preference` (1 or 2, or 0 for neither), `confidence` (1 to 10)
    and, where several experts judge a case, `id`. The confidence is the mean of theirs.

    Args:
        source: JSONL, CSV or Parquet.

    Raises:
        InputError: If there are rows that cannot be used.
    """
    votes: dict[str, list[_Vote]] = {}
    problems = []
    for number, vote in read_validated_rows(source, _parse_vote):
        before = votes.setdefault(vote.case_id or f"row {number}", [])
        if before and (before[0].reference, before[0].candidates) != (vote.reference, vote.candidates):
            problems.append(f"row {number}: field 'id': expected the texts of {vote.case_id!r} as in its first row")
        before.append(vote)
    if problems:
        raise_row_errors(source, problems)
    for name, cast in votes.items():
        choices = {vote.choice for vote in cast}
        sure = [vote.confidence for vote in cast if vote.confidence is not None]
        yield Preference(
            name,
            cast[0].reference,
            *cast[0].candidates,
            choices.pop() if len(choices) == 1 else "neither",
            cast[0].reference,
            sum(sure) / len(sure) if sure else None,
        )


def _parse_vote(values: Mapping[str, Any]) -> _Vote:
    told = str(values.get("preference")).strip().removesuffix(".0").removeprefix("candidate")
    if told not in _CHOICES:
        raise RowError(f"field 'preference': expected 1 or 2, or 0 for neither, but got {values.get('preference')!r}")
    name = text_field(values, "id", allow_integer=True) if values.get("id") not in (None, "") else ""
    texts = text_field(values, "candidate1"), text_field(values, "candidate2")
    sure = number_field(values, "confidence", 1, 10)
    return _Vote(name, text_field(values, "reference"), texts, _CHOICES[told], sure)
