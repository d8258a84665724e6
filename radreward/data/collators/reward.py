"""Groups of reports to packed batches for a reward model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch

from radreward.criteria import Criteria
from radreward.data.collators.base import Collator, error_tensor
from radreward.data.packing import Packing, pack
from radreward.data.pairing import make_pairs
from radreward.data.tokenizer import SegmentTokenizer, load_tokenizer
from radreward.errors import InputError
from radreward.prompts import PlainPairTemplate, PromptTemplate
from radreward.types import ReportGroup, RewardTargets, RewardTrainingBatch


class PromptTooLongError(ValueError):
    """A prompt that does not fit; says how many tokens it has and how many are allowed."""


class PromptEncoder:
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
        self.segment_tokenizer = SegmentTokenizer(load_tokenizer(tokenizer))
        self.criteria = criteria
        self.template = template
        self.max_length = max_length

    def token_segments(self, reference: str, candidate: str) -> list[list[int]]:
        """The pieces of a prompt as token ids, from the root to the candidate; not cut."""
        return self.segment_tokenizer.encode_segments(self.template.render(reference, candidate, self.criteria))

    def encode(self, reference: str, candidate: str, truncate: bool) -> tuple[list[list[int]], bool]:
        """The path within the limit, and whether a report was cut for it.

        Reference and candidate keep their beginnings, in equal shares; what the template puts around them stays.

        Raises:
            TooLong: If the path is longer than the limit and `cut` is off, or the template leaves no room.
        """
        path = self.token_segments(reference, candidate)
        length = sum(map(len, path))
        if length <= self.max_length:
            return path, False
        if not truncate:
            raise PromptTooLongError(f"expected at most {self.max_length} tokens but the prompt has {length}")
        lengths = [self.segment_tokenizer.length(text) for text in (reference, candidate)]
        room = self.max_length - (length - sum(lengths))
        while room >= 2:
            kept = min(lengths[0], max(room // 2, room - lengths[1]))
            cut_path = self.token_segments(
                self.segment_tokenizer.truncate(reference, kept),
                self.segment_tokenizer.truncate(candidate, room - kept),
            )
            if sum(map(len, cut_path)) <= self.max_length:
                return cut_path, True
            room -= 1  # a word that was cut in two may have more tokens than before
        raise PromptTooLongError(
            f"expected room for two reports, but the template leaves none of {self.max_length} tokens"
        )


class RewardCollator(Collator):
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
        on_too_long: Literal["error", "truncate"] = "error",
    ) -> None:
        self.criteria = criteria
        self.prompt_encoder = PromptEncoder(tokenizer, criteria, template or PlainPairTemplate(), max_length)
        self.packing: Packing = packing
        self.on_too_long = on_too_long

    def collate(self, groups: Sequence[ReportGroup]) -> RewardTrainingBatch:
        """The batch.

        Raises:
            InputError: If a candidate's errors are not stated by the criteria, or a prompt is too long; names the
                group and the candidate.
        """
        paths, errors, group_of, truncated = [], [], [], 0
        for index, group in enumerate(groups):
            for number, candidate in enumerate(group.candidates, 1):
                where = f"group {group.id!r}, candidate {number}"
                path, was_cut = self._encode_prompt(group.reference, candidate.text, where)
                truncated += was_cut
                paths.append(path)
                errors.append(error_tensor(candidate, self.criteria, where))
                group_of.append(index)
        quality, group_index = self.criteria.quality(torch.stack(errors)), torch.tensor(group_of)
        return RewardTrainingBatch(
            pack(paths, self.packing),
            RewardTargets(quality, group_index, make_pairs(self.criteria.total_quality(quality), group_index)),
            tuple(group.id for group in groups),
            truncated,
        )

    def length(self, group: ReportGroup) -> int:
        """Tokens of the reference and all candidates, before any is cut.

        Raises:
            InputError: If a prompt is too long; names the group and the candidate.
        """
        if self.on_too_long == "error":
            for number, candidate in enumerate(group.candidates, 1):
                self._encode_prompt(group.reference, candidate.text, f"group {group.id!r}, candidate {number}")
        paths = [self.prompt_encoder.token_segments(group.reference, candidate.text) for candidate in group.candidates]
        return sum(map(len, paths[0])) + sum(len(path[-1]) for path in paths[1:])

    def _encode_prompt(self, reference: str, candidate: str, label: str) -> tuple[list[list[int]], bool]:
        cut = self.on_too_long == "truncate"
        try:
            return self.prompt_encoder.encode(reference, candidate, cut)
        except PromptTooLongError as error:
            remedy = "a larger max_length" if cut else "too_long to truncate, or a larger max_length"
            raise InputError(f"{label}: {error}. Set {remedy}.") from error
