"""Reading of age and indication."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.patient_context import MAX_AGE, NO_CONTEXT, parse_context


@pytest.mark.parametrize(
    ("value", "years"),
    [(70, 70), (0.5, 0.5), ("70", 70), ("070Y", 70), (" 6 months", 0.5), ("014D", 14 / 365.25), ("67 yo", 67)],
)
def test_age_is_read(value: Any, years: float) -> None:
    assert parse_context({"age": value}).age == pytest.approx(years)


@pytest.mark.parametrize(
    "value", [None, "", "adult", "60-70", -3, 999, float("nan"), float("inf"), 10**400, True, [70], "7e1"]
)
def test_unreadable_age_is_ignored(value: Any) -> None:
    assert parse_context({"age": value, "indication": value if value != "60-70" else " "}).age is None


@given(st.text() | st.integers() | st.floats() | st.lists(st.text()))
def test_any_value_is_read_or_ignored(value: Any) -> None:
    age, indication = parse_context({"age": value, "indication": value})
    assert age is None or 0 <= age <= MAX_AGE
    assert indication is None or indication == value


def test_row_without_columns_has_no_context() -> None:
    assert parse_context({"reference": "Clear lungs."}) == NO_CONTEXT
