"""Numbers in files: undefined ones, and those of float32 in text."""

from __future__ import annotations

import math
from typing import SupportsFloat

import numpy as np


def shortest_float32(value: float) -> float:
    """Return the float with the fewest digits that is read back as the same float32.

    >>> shortest_float32(0.20000000298023224)
    0.2
    """
    number = np.float32(value)
    short = float(str(number))
    return short if np.float32(short) == number else value


def finite_or_none(value: SupportsFloat | None, digits: int | None = None) -> float | None:
    """Return a number as float, rounded if `digits` is given; None if it is None or not finite.

    >>> finite_or_none(2 / 3, 2), finite_or_none(float("nan"))
    (0.67, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return float(value) if digits is None else round(float(value), digits)
