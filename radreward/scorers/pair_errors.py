"""Texts of a pair, checked before they are scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.io.tables import is_valid_utf8
from radreward.text.normalization import MAX_REPORT_CHARS

_MISSING_VALUES = frozenset({"nan", "na", "n/a", "<na>", "nat", "null", "none"})
"""Lowercase texts of missing values, in tables or from `str` of a missing value of NumPy or pandas."""


def text_list(texts: Iterable[Any], name: str) -> list[Any]:
    """Return the entries of a sequence in their order: a list, a pandas Series with any index, an Arrow array, ...

    Args:
        texts: The sequence.
        name: Name of the sequence, for the message.

    Raises:
        InputError: If it is a single text, is not ordered or has more than one dimension.

    >>> import pandas as pd
    >>> text_list(pd.Series(["first", "second"], index=[1, 0]), "references")
    ['first', 'second']
    """
    if (
        isinstance(texts, str | bytes | Mapping | Set)
        or not isinstance(texts, Iterable)
        or len(getattr(texts, "shape", (0,))) != 1
    ):
        raise InputError(f"{name}: Expected a sequence of texts but got a {type(texts).__name__}.")
    # Arrow's entries are scalars, not texts.
    return texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)


def is_missing(value: Any) -> bool:
    """Return True for a missing value, such as None, NaN, and the text "NA".

    >>> [is_missing(value) for value in (None, float("nan"), "NA", "", "No change.")]
    [True, True, True, False, False]
    """
    return value is None or str(value).strip().lower() in _MISSING_VALUES


class PairError(NamedTuple):
    """Reason why a pair cannot be scored."""

    field: str | None
    """Unusable field: "reference", "candidate" or another one; None if the whole row is unusable."""
    reason: str


def validate_pair(reference: Any, candidate: Any) -> PairError | None:
    """Return the error of a pair, or None if both texts are usable.

    >>> validate_pair("Clear lungs.", " ")
    PairError(field='candidate', reason='empty candidate')
    """
    for field, value in (("reference", reference), ("candidate", candidate)):
        if is_missing(value):
            return PairError(field, f"missing {field}")
        if not isinstance(value, str):
            return PairError(field, f"Expected a text as {field} but got {value!r:.60}. Write it as a string")
        if not value.strip():
            return PairError(field, f"empty {field}")
        if not is_valid_utf8(value):
            return PairError(field, f"Expected UTF-8 text as {field}")
        if len(value) > MAX_REPORT_CHARS:
            expected = f"Expected at most {MAX_REPORT_CHARS:,} characters as {field} but got {len(value):,}"
            return PairError(field, f"over the limit: {expected}; split or shorten the text")
    return None
