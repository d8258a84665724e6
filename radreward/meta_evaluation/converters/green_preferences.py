"""Preferences between two candidates with the experts' confidence (GREEN, section 3.4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from radreward.io.validated_rows import (
    RowError,
    number_field,
    optional_text_field,
    raise_row_errors,
    read_validated_rows,
    text_field,
)
from radreward.meta_evaluation.preferences import Preference, PreferredCandidate

_CHOICES: dict[str, PreferredCandidate] = {"1": "a", "2": "b", "0": "neither"}


class _Vote(NamedTuple):
    case_id: str | None
    reference: str
    candidates: tuple[str, str]
    choice: PreferredCandidate
    confidence: float | None


def read_green_preferences(source: Path) -> Iterator[Preference]:
    """Yield one preference per case. If experts disagree, neither candidate is preferred, as in the paper.

    Rows have `reference`, `candidate1`, `candidate2`, `preference` (1, 2, or 0 for neither), `confidence` (1 to 10)
    and, if several experts judge a case, `id`. The confidence is the mean over experts.

    Args:
        source: A file in any format of `read_rows`.

    Raises:
        InputError: If a row is invalid.
    """
    votes: dict[str, list[_Vote]] = {}
    errors = []
    for number, vote in read_validated_rows(source, _parse_vote):
        case_votes = votes.setdefault(vote.case_id or f"row {number}", [])
        case_votes.append(vote)
        if (case_votes[0].reference, case_votes[0].candidates) != (vote.reference, vote.candidates):
            errors.append(
                f"row {number}: field 'id': Expected the texts of {vote.case_id!r} as in its first row but got others"
            )
    if errors:
        raise_row_errors(source, errors)
    for case_id, case_votes in votes.items():
        choices = {vote.choice for vote in case_votes}
        confidences = [vote.confidence for vote in case_votes if vote.confidence is not None]
        candidate_a, candidate_b = case_votes[0].candidates
        yield Preference(
            id=case_id,
            reference=case_votes[0].reference,
            candidate_a=candidate_a,
            candidate_b=candidate_b,
            preferred=choices.pop() if len(choices) == 1 else "neither",
            group=case_votes[0].reference,
            confidence=sum(confidences) / len(confidences) if confidences else None,
        )


def _parse_vote(values: Mapping[str, Any]) -> _Vote:
    choice = str(values.get("preference")).strip().removesuffix(".0").removeprefix("candidate")
    if choice not in _CHOICES:
        raise RowError(f"field 'preference': Expected 1 or 2, or 0 for neither, but got {values.get('preference')!r}")
    return _Vote(
        case_id=optional_text_field(values, "id", allow_integer=True),
        reference=text_field(values, "reference"),
        candidates=(text_field(values, "candidate1"), text_field(values, "candidate2")),
        choice=_CHOICES[choice],
        confidence=number_field(values, "confidence", 1, 10),
    )
