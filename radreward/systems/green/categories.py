"""Sections and error categories of GREEN's answers, shared by the template and the parser."""

from __future__ import annotations

from typing import NamedTuple

from radreward.criteria import Criteria, Criterion

SIGNIFICANT, INSIGNIFICANT = "significant ", "insignificant "
"""Prefixes of the names of criteria that are split by clinical significance."""

EXPLANATION = "explanation"
SIGNIFICANT_ERRORS = "clinically significant errors"
INSIGNIFICANT_ERRORS = "clinically insignificant errors"
MATCHED_FINDINGS = "matched findings"
HEADINGS = (EXPLANATION, SIGNIFICANT_ERRORS, INSIGNIFICANT_ERRORS, MATCHED_FINDINGS)


class ErrorCategories(NamedTuple):
    """K error categories and their relation to the criteria."""

    categories: tuple[Criterion, ...]
    """(K,) categories, with names that do not contain the significance."""
    split_by_significance: bool
    """True if each category is two criteria: first the K significant ones, then the K insignificant ones."""


def error_categories(criteria: Criteria) -> ErrorCategories:
    """Return the categories of an answer: one per criterion, or per pair of significant and insignificant criterion.

    >>> from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
    >>> error_categories(RadCliQCriteria()).split_by_significance
    False
    >>> split = error_categories(RadCliQSignificanceCriteria())
    >>> split.split_by_significance, len(split.categories)
    (True, 6)
    """
    half = len(criteria) // 2
    first, second = criteria.criteria[:half], criteria.criteria[half:]
    names = [entry.name.removeprefix(SIGNIFICANT) for entry in first]
    expected = [*(SIGNIFICANT + name for name in names), *(INSIGNIFICANT + name for name in names)]
    if half and [entry.name for entry in (*first, *second)] == expected:
        return ErrorCategories(tuple(entry._replace(name=name) for entry, name in zip(first, names, strict=True)), True)
    return ErrorCategories(criteria.criteria, False)


def category_label(index: int) -> str:
    """Return the letter of a category, or its number from the 27th category on.

    >>> category_label(0), category_label(26)
    ('(a)', '(27)')
    """
    return f"({chr(ord('a') + index)})" if index < 26 else f"({index + 1})"
