"""Return of free memory to the system."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache


def return_free_memory() -> None:
    """Give the system the free memory that the C library keeps, if it is glibc; others keep little.

    glibc keeps what lies below a block in use, so that a process which computes chunk after chunk grows, though no
    chunk needs more than the one before.

    >>> return_free_memory()
    """
    if trim := _trim():
        trim(0)


@lru_cache(1)
def _trim() -> Callable[[int], int] | None:
    found: Callable[[int], int] | None = None
    if sys.platform == "linux":
        found = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
