"""Soak tests: long random runs that count what was tried and what survived; `make soak` runs them, the tests a few.

A job is a public module of this package with `run(scale: float) -> Iterator[Outcome]`: 1 is the full run, and less
tries proportionally less, but at least one of each kind.
"""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """A row of the table."""

    name: str
    """Name of what was tried."""
    tried: int
    survived: int
    note: str = ""
    """First failure, or what was measured."""
    required: float = 1.0
    """Share that must survive; 0 if it is measured only."""

    @property
    def failed(self) -> bool:
        """True if too few survived."""
        return self.survived < self.required * self.tried
