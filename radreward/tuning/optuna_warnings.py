"""Filter for the warnings of Optuna about its experimental functions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from optuna.exceptions import ExperimentalWarning


@contextmanager
def allow_experimental() -> Iterator[None]:
    """Ignore the warning that a function or an argument of Optuna is experimental."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        yield
