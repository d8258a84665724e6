"""Names of the columns of a file of pairs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InputColumns:
    """Names of the columns that are read from a file of pairs; in commands, options.

    Args:
        reference: Column of the references.
        candidate: Column of the candidates.
        id: Column of the ids; by default `id`, or numbers of the rows if there is none.
    """

    reference: str = "reference"
    candidate: str = "candidate"
    id: str | None = None


DEFAULT_COLUMNS = InputColumns()
