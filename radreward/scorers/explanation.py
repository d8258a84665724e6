"""The parsed answer of a generative evaluator."""

from __future__ import annotations

from typing import NamedTuple


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
