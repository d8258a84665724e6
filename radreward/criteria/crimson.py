"""CRIMSON's score of a candidate, from weighted findings."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum


def crimson_score(matched: Sequence[tuple[float, float]], false_weight: float, missed_weight: float) -> float:
    """Return the score of a candidate in (-1, 1]: 1 if nothing is wrong, 0 for an empty normal template.

    With weights w of the reference's findings, N = Σ w and the credit c = Σ w² / (w + d) over matched findings whose
    wrong details weigh d: S = (c - false) / N. A negative S becomes -x / (1 + x) with x = false - c, or 0 if x <= 0. If
    N is 0, each matched finding counts as one. If there are no matched findings either, the score is 1 without false
    findings, else -x / (1 + x). Source: CRIMSON (arXiv 2603.06183).

    Args:
        matched: Weight of each matched finding of the reference, and of its wrong details.
        false_weight: Weight of the findings that the reference does not have.
        missed_weight: Weight of the findings of the reference that the candidate lacks.

    >>> crimson_score([(0.5, 0.5)], false_weight=0.5, missed_weight=0.5)
    -0.2
    >>> crimson_score([], false_weight=0.0, missed_weight=0.5), crimson_score([], 0.0, 0.0)
    (0.0, 1.0)
    """
    credit = fsum(weight * weight / (weight + details) for weight, details in matched if weight)
    reference_weight = fsum(weight for weight, _ in matched) + missed_weight or float(len(matched))
    if not reference_weight and not false_weight:
        return 1.0
    surplus = credit - false_weight
    return surplus / reference_weight if reference_weight and surplus >= 0 else surplus / (1 - surplus)
