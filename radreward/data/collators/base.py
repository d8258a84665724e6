"""The interface of collators, which turn groups of reports into the tensors of a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.types import Candidate, ReportGroup


class Collator(ABC):
    """Turns groups into a batch; the part of the data that differs between modules.

    Attributes:
        needs_candidates: False if only references are used, so that rows of plain text are data too.
    """

    needs_candidates: bool = True

    @abstractmethod
    def collate(self, groups: Sequence[ReportGroup]) -> Any:
        """Return a batch, a (nested) tuple of tensors; called in a worker process for every batch."""

    def length(self, group: ReportGroup) -> int:
        """Return the length by which groups are batched, in any unit; defaults to characters.

        Called for every group before training, so it may reject groups that cannot be collated.
        """
        return len(group.reference) + sum(len(candidate.text) for candidate in group.candidates)


class LabelledCandidate(NamedTuple):
    """A candidate of a batch."""

    group_index: int
    """Index of the group in the batch."""
    reference: str
    candidate: Candidate
    label: str
    """Name of the candidate in messages."""


def candidates_of(groups: Sequence[ReportGroup]) -> Iterator[LabelledCandidate]:
    """Yield the candidates of all groups in order.

    >>> [entry.label for entry in candidates_of([ReportGroup("g", "No mass.", (Candidate("Mass."),))])]
    ["group 'g', candidate 1"]
    """
    for index, group in enumerate(groups):
        for number, candidate in enumerate(group.candidates, 1):
            yield LabelledCandidate(index, group.reference, candidate, f"group {group.id!r}, candidate {number}")


def error_tensor(candidate: Candidate, criteria: Criteria, label: str) -> Tensor:
    """Return the (N,) float32 error counts of a candidate; `label` names it in messages.

    Raises:
        InputError: If it has no counts, or other criteria or values than these allow.
    """
    if candidate.errors is None:
        raise InputError(f"{label}: Expected error counts by criterion but got none.")
    try:
        return criteria.to_tensor(candidate.errors)
    except InputError as error:
        raise InputError(f"{label}: {error}") from error
