"""Groups of reports to packed batches for a reward model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch

from radreward.criteria import Criteria
from radreward.data.collate import Collator
from radreward.data.packing import Packing, pack
from radreward.data.pairing import pairs
from radreward.data.tokenizer import SegmentTokenizer, load_tokenizer
from radreward.errors import InputError
from radreward.prompts import PairTemplate, PromptTemplate
from radreward.types import Candidate, ReportGroup, RewardTargets, TrainingBatch

TooLong = Literal["error", "truncate"]


class Prompts:
    """Reports as token paths of a limited length; the same in training and in use.

    Args:
        tokenizer: Name of the backbone whose tokenizer to use.
        criteria: What is judged.
        template: How reports are put before the model.
        max_length: Most tokens from the root to the candidate's end.

    Raises:
        ValueError: If `max_length` is not positive.
    """

    def __init__(self, tokenizer: str, criteria: Criteria, template: PromptTemplate, max_length: int) -> None:
        if max_length < 1:
            raise ValueError(f"Expected `max_length` to be >= 1 but got {max_length}.")
        self.tokens = SegmentTokenizer(load_tokenizer(tokenizer))
        self.criteria = criteria
        self.template = template
        self.max_length = max_length

    def path(self, reference: str, candidate: str) -> list[list[int]]:
        """The pieces of a prompt as token ids, from the root to the candidate; not cut."""
        return self.tokens.pieces(self.template.render(reference, candidate, self.criteria))

    def too_long(self, path: Sequence[Sequence[int]]) -> int:
        """How many tokens the path has beyond the limit; 0 where it fits."""
        return max(0, sum(map(len, path)) - self.max_length)

    def cut(self, path: list[list[int]]) -> list[list[int]]:
        """The path within the limit: reference and candidate keep their beginnings and last token, in equal shares.

        Raises:
            InputError: If the instruction alone leaves no room.
        """
        *instruction, reference, candidate = path
        room = self.max_length - sum(map(len, instruction))
        if room < 8:
            raise InputError(f"Expected `max_length` to leave room for reports, but {self.max_length} leaves {room}.")
        share = max(room // 2, room - min(len(reference), len(candidate)))
        longer = [share if len(piece) >= share else len(piece) for piece in (reference, candidate)]
        if sum(longer) > room:
            longer = [room - room // 2, room // 2]
        return [*instruction, _shorten(reference, longer[0]), _shorten(candidate, longer[1])]


def _shorten(piece: list[int], length: int) -> list[int]:
    return piece if len(piece) <= length else [*piece[: length - 1], piece[-1]]


class PackedGroups(Collator):
    """Groups to a packed batch with targets and pairs.

    Args:
        criteria: What is judged; every candidate's errors are stated by it.
        tokenizer: Name of the backbone whose tokenizer to use.
        template: How reports are put before the model.
        packing: What candidates share a row; "rows" switches packing off.
        max_length: Most tokens from the root to a candidate's end.
        too_long: What to do with a longer one: stop with an error that names it, or cut reference and candidate,
            which is counted in the batch.
    """

    def __init__(
        self,
        criteria: Criteria,
        tokenizer: str = "embedded",
        template: PromptTemplate | None = None,
        packing: Packing = "tree",
        max_length: int = 512,
        too_long: TooLong = "error",
    ) -> None:
        self.criteria = criteria
        self.prompts = Prompts(tokenizer, criteria, template or PairTemplate(), max_length)
        self.packing: Packing = packing
        self.too_long = too_long

    def collate(self, groups: Sequence[ReportGroup]) -> TrainingBatch:
        """The batch.

        Raises:
            InputError: If a candidate's errors are not stated by the criteria, or a prompt is too long; names the
                group and the candidate.
        """
        paths, errors, group_of, truncated = [], [], [], 0
        for index, group in enumerate(groups):
            for number, candidate in enumerate(group.candidates, 1):
                path = self.prompts.path(group.reference, candidate.text)
                if self.prompts.too_long(path):
                    path = self._cut(path, f"group {group.id!r}, candidate {number}")
                    truncated += 1
                paths.append(path)
                errors.append(_errors(candidate, self.criteria, f"group {group.id!r}, candidate {number}"))
                group_of.append(index)
        quality, group_index = self.criteria.quality(torch.stack(errors)), torch.tensor(group_of)
        return TrainingBatch(
            pack(paths, self.packing),
            RewardTargets(quality, group_index, pairs(self.criteria.total(quality), group_index)),
            tuple(group.id for group in groups),
            truncated,
        )

    def _cut(self, path: list[list[int]], where: str) -> list[list[int]]:
        if self.too_long == "error":
            raise InputError(
                f"{where}: Expected at most {self.prompts.max_length} tokens but the prompt has "
                f"{sum(map(len, path))}. Set too_long to truncate, or a larger max_length."
            )
        return self.prompts.cut(path)

    def length(self, group: ReportGroup) -> int:
        """Tokens of the reference and all candidates."""
        paths = [self.prompts.path(group.reference, candidate.text) for candidate in group.candidates]
        return sum(map(len, paths[0])) + sum(len(path[-1]) for path in paths[1:])


def _errors(candidate: Candidate, criteria: Criteria, where: str) -> torch.Tensor:
    if candidate.errors is None:
        raise InputError(f"{where}: Expected errors by criterion but there are none.")
    try:
        return criteria.vector(candidate.errors)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
