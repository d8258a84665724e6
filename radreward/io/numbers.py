"""Numbers of float32 in text."""

from __future__ import annotations

import numpy as np


def shortest_float32(value: float) -> float:
    """Return the float with the fewest digits that is read back as the same float32.

    >>> shortest_float32(0.20000000298023224)
    0.2
    """
    number = np.float32(value)
    short = float(str(number))
    return short if np.float32(short) == number else value
