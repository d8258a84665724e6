"""Age and indication of a patient. Both are optional and change the significance of findings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_AGE = 130
"""Largest valid age in years."""
CONTEXT_COLUMNS = ("age", "indication")
"""Columns of the context in a file or a data frame."""
_AGE = re.compile(r"\s*(\d{1,3}(?:\.\d*)?)\s*(?:([ymwd])[a-z]*)?\s*", re.IGNORECASE)
_YEARS = {"y": 1.0, "m": 1 / 12, "w": 7 / 365.25, "d": 1 / 365.25}


class PatientContext(NamedTuple):
    """Age and indication of a patient, see `patient_level`."""

    age: float | None = None
    """Years."""
    indication: str | None = None
    """Reason for the examination."""


NO_CONTEXT = PatientContext()


def parse_context(values: Mapping[str, Any]) -> PatientContext:
    """Return the context of a row; missing or unreadable values are None.

    An age is a number of years, or a text with a unit such as "8 months" or DICOM's "065Y".

    >>> parse_context({"age": "008M", "indication": "Fall."})
    PatientContext(age=0.6666666666666666, indication='Fall.')
    >>> parse_context({"age": "adult", "indication": 3})
    PatientContext(age=None, indication=None)
    """
    age, indication = (values.get(name) for name in CONTEXT_COLUMNS)
    is_text = isinstance(indication, str) and bool(indication.strip())
    return PatientContext(_parse_age(age), indication if is_text else None)


def unreadable_context(values: Mapping[str, Any]) -> list[str]:
    """Return the columns of the context with an unreadable value.

    >>> unreadable_context({"age": "adult", "indication": None})
    ['age']
    """
    context = parse_context(values)._asdict()
    return [name for name in CONTEXT_COLUMNS if context[name] is None and values.get(name) not in (None, "")]


def _parse_age(value: Any) -> float | None:
    if isinstance(value, str):
        match = _AGE.fullmatch(value)
        years = float(match[1]) * _YEARS[(match[2] or "y").lower()] if match else math.nan
    else:
        years = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    return float(years) if 0 <= years <= MAX_AGE else None
