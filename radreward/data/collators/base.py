"""What turns groups of reports into the tensors of a training batch: what differs between modules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.types import Candidate, ReportGroup


def error_tensor(candidate: Candidate, criteria: Criteria, label: str) -> Tensor:
    """(N,) float32 errors of a candidate, as a batch is made of.

    Args:
        candidate: Whose errors are known.
        criteria: What they must be stated by.
        where: Names the candidate in errors.

    Raises:
        InputError: If it has none, or other criteria or values than these allow.
    """
    if candidate.errors is None:
        raise InputError(f"{label}: Expected errors by criterion but there are none.")
    try:
        return criteria.to_tensor(candidate.errors)
    except InputError as error:
        raise InputError(f"{label}: {error}") from error


class Collator(ABC):
    """Groups to a batch; one method, called in a worker process for every batch."""

    @abstractmethod
    def collate(self, groups: Sequence[ReportGroup]) -> Any:
        """The batch, a (nested) tuple of tensors."""

    def length(self, group: ReportGroup) -> int:
        """How long a group is, in any unit: groups of like length share a batch. Characters, unless overridden.

        Called for every group before anything is trained: the place to refuse one that cannot be collated.
        """
        return len(group.reference) + sum(len(candidate.text) for candidate in group.candidates)
