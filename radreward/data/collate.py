"""What turns groups of reports into the tensors of a training batch: what differs between modules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from radreward.types import ReportGroup


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
