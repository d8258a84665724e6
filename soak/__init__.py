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
    deviation: float = 0.0
    """Largest amount by which a case missed the promise; 0 if none did, or if the promise has no amount."""

    @property
    def failed(self) -> bool:
        """True if too few survived."""
        return self.survived < self.required * self.tried

    @property
    def result(self) -> str:
        """How many cases kept the promise, and if this suffices."""
        verdict = "measured" if not self.required else "failed" if self.failed else "passed"
        return f"{self.survived:,} of {self.tried:,}: {verdict}"
