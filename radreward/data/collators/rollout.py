"""Prompts for a policy that answers in text."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from radreward.criteria import Criteria
from radreward.data.chat_encoding import ChatPromptEncoder, ChatTemplateName
from radreward.data.collators.base import Collator, LabelledCandidate, candidates_of, error_tensor
from radreward.data.prompt_encoder import OnTooLong
from radreward.prompts.generative_template import GenerativeTemplate
from radreward.types import ReportGroup, RolloutPromptBatch


class RolloutCollator(Collator):
    """Turns groups into prompts, one per candidate, with target error counts.

    Args:
        criteria: The criteria of every candidate's error counts.
        template: Layout of the prompts and parser of the answers.
        tokenizer: Name of the backbone whose tokenizer to use.
        chat_template: Chat layout around the prompt, see `ChatPromptEncoder`.
        max_length: Maximum number of tokens of a prompt.
        max_answer_length: Maximum number of tokens of an answer; generation stops there.
        on_too_long: "error" stops at a longer prompt and names it; "truncate" truncates reference and candidate, and
            counts the prompt.
    """

    def __init__(
        self,
        criteria: Criteria,
        template: GenerativeTemplate,
        tokenizer: str = "tiny-llama",
        chat_template: ChatTemplateName = "auto",
        max_length: int = 1024,
        max_answer_length: int = 512,
        on_too_long: OnTooLong = "error",
    ) -> None:
        self.criteria = criteria
        self.template = template
        self.prompt_encoder = ChatPromptEncoder(
            tokenizer, criteria, template, max_length, max_answer_length, chat_template
        )
        self.on_too_long: OnTooLong = on_too_long

    def collate(self, groups: Sequence[ReportGroup]) -> RolloutPromptBatch:
        """Return a batch; candidates of a group are adjacent.

        Raises:
            InputError: If error counts do not match the criteria, or a prompt is too long. The message names the group
                and the candidate.
        """
        entries = list(candidates_of(groups))
        encoded = [self._encode(entry) for entry in entries]
        return RolloutPromptBatch(
            prompts=tuple(tuple(map(tuple, prompt)) for prompt, _ in encoded),
            target=torch.stack([error_tensor(entry.candidate, self.criteria, entry.label) for entry in entries]),
            report_pairs=tuple((entry.reference, entry.candidate.text) for entry in entries),
            ids=tuple(group.id for group in groups),
            group=torch.tensor([entry.group_index for entry in entries]),
            num_truncated=sum(truncated for _, truncated in encoded),
        )

    def length(self, group: ReportGroup) -> int:
        """Return the number of tokens of all prompts of a group.

        Raises:
            InputError: If a prompt is too long. The message names the group and the candidate.
        """
        return sum(len(piece) for entry in candidates_of([group]) for piece in self._encode(entry)[0])

    def _encode(self, entry: LabelledCandidate) -> tuple[list[list[int]], bool]:
        """Return the segments of a prompt, and True if a report was truncated."""
        path, truncated = self.prompt_encoder.encode_or_raise(
            entry.reference, entry.candidate.text, self.on_too_long, entry.label
        )
        return path.segments, truncated
