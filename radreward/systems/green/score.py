"""GREEN's score of error counts."""

from __future__ import annotations

from collections.abc import Sequence


def green_score(num_matched: float, significant: Sequence[float]) -> float:
    """Return M / (M + Σ significant errors), or 0 if M, the number of matched findings, is 0 (GREEN, Eq. 1).

    Raises:
        ValueError: If a count is negative.

    >>> green_score(3, [0, 0, 1, 0, 0, 0]), green_score(0, [0, 0])
    (0.75, 0.0)
    """
    if min((num_matched, *significant)) < 0:
        raise ValueError(f"Expected counts >= 0 but got {num_matched} and {list(significant)}.")
    return num_matched / (num_matched + sum(significant)) if num_matched > 0 else 0.0
