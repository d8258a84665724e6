"""Tests of CRIMSON's score against a literal transcription of its definition; the doctest has the worked example."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import crimson_score

levels = st.sampled_from([0.0, 0.25, 0.5, 1.0])
sums = st.lists(levels, max_size=6).map(sum)
matches = st.lists(st.tuples(levels, st.sampled_from([0.0, 0.5, 1.0, 1.5])), max_size=6)


def naive_score(matched: list[tuple[float, float]], false: float, missed: float) -> float:
    """Return the score step by step as published."""
    total = missed
    correct = 0.0
    for weight, details in matched:
        total += weight
        if details == 0:
            correct += weight
        elif weight + details > 0:
            correct += weight * weight / (weight + details)
    if total == 0:
        total = len(matched) + missed
    score = -(false + missed + 1) if total == 0 else (correct - false) / total
    if total == 0 and false == 0 and missed == 0:
        score = 1.0
    if score >= 0:
        return score
    x = false - correct if false - correct > 0 else 0.0
    return -x / (1 + x)


@given(matches, sums, sums)
def test_crimson_score_agrees_with_naive_steps(matched: list[tuple[float, float]], false: float, missed: float) -> None:
    assert crimson_score(matched, false, missed) == pytest.approx(naive_score(matched, false, missed))
    assert -1 < crimson_score(matched, false, missed) <= 1


@given(matches, sums, sums)
def test_crimson_score_falls_with_false_and_missed_findings(
    matched: list[tuple[float, float]], false: float, missed: float
) -> None:
    score = crimson_score(matched, false, missed)
    assert crimson_score(matched, false + 0.5, missed) < score
    assert crimson_score([*matched, (0.5, 0.0)], false, missed) >= crimson_score(matched, false, missed + 0.5)
