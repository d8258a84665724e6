"""The parsed answer of a generative evaluator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from radreward.models.marked_findings import MarkedFinding, criterion_name, kind_of_error
from radreward.types import Side


class Explanation(NamedTuple):
    """The parsed answer of a generative evaluator about one candidate."""

    raw_answer: str
    """Unparsed answer."""
    finish_reason: str
    """"stop" if the model ended the answer, "length" if the maximum length did."""
    format_error: str | None
    """First deviation from the requested format; the answer may still have a score."""
    explanation: str | None
    """Reasoning."""
    significant: dict[str, float | None]
    """Error counts by criterion.

    If the model separates errors by significance, only the clinically significant ones.
    """
    insignificant: dict[str, float | None]
    """Clinically insignificant error counts. Empty if the model does not separate errors by significance."""
    errors: dict[str, tuple[str, ...]]
    """Descriptions of the errors by criterion, significant errors first."""
    num_matched: float | None
    """Number of findings in both reports; None if the model does not count them."""
    matched_findings: tuple[str, ...]
    """Descriptions of the findings in both reports."""


def mark_explanation(explanation: Explanation) -> Iterator[MarkedFinding]:
    """Yield the findings that match, and those with an error."""
    for text in explanation.matched_findings:
        yield MarkedFinding(Side.REFERENCE, "matched", text)
    for tag, descriptions in explanation.errors.items():
        kind = kind_of_error(tag)
        for text in descriptions:
            side = Side.REFERENCE if kind == "missed" else Side.CANDIDATE
            yield MarkedFinding(side, kind, text, criterion=criterion_name(tag))
