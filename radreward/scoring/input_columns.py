"""Names of the columns of a file of pairs."""

from __future__ import annotations

from dataclasses import dataclass

from radreward.errors import InputError


@dataclass(frozen=True, slots=True)
class InputColumns:
    """Names of the columns that are read from a file of pairs; in commands, options.

    Args:
        reference: Column of the references.
        candidate: Column of the candidates.
        id: Column of the ids; by default `id`, or numbers of the rows if there is none.

    Raises:
        InputError: If references and candidates are the same column.
    """

    reference: str = "reference"
    candidate: str = "candidate"
    id: str | None = None

    def __post_init__(self) -> None:
        if self.reference == self.candidate:
            raise InputError(
                "Expected different columns for `reference` (--reference) and `candidate` (--candidate) but got "
                f"{self.candidate!r} for both."
            )


DEFAULT_COLUMNS = InputColumns()
