"""Groups of reports to prompts, one for each candidate, for a policy that answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch

from radreward.criteria import Criteria
from radreward.data.chat_encoding import ChatPromptEncoder, ChatTemplateName
from radreward.data.collators.base import Collator, error_tensor
from radreward.data.collators.reward import PromptTooLongError
from radreward.errors import InputError
from radreward.prompts.generative_template import GenerativeTemplate
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.types import ReportGroup, RolloutPromptBatch


class RolloutCollator(Collator):
    """Groups to prompts with what is known of each candidate.

    Args:
        criteria: What is judged; every candidate's errors are stated by it.
        tokenizer: Name of the backbone whose tokenizer to use.
        template: How reports are put before the model, and how its answers are read.
        chat: Whether to speak as the backbone's chat layout does, see `ChatPromptEncoder`.
        max_length: Most tokens of a prompt.
        max_answer: Most tokens of an answer; a longer one is cut.
        too_long: What to do with a longer one: stop with an error that names it, or cut reference and candidate,
            which is counted in the batch.
    """

    def __init__(
        self,
        criteria: Criteria,
        tokenizer: str = "tiny-llama",
        template: GenerativeTemplate | None = None,
        chat_template: ChatTemplateName = "auto",
        max_length: int = 1024,
        max_answer_length: int = 512,
        on_too_long: Literal["error", "truncate"] = "error",
    ) -> None:
        self.criteria = criteria
        self.template = template or RadReasonTemplate()
        self.prompt_encoder = ChatPromptEncoder(
            tokenizer, criteria, self.template, max_length, max_answer_length, chat_template
        )
        self.on_too_long = on_too_long

    def collate(self, groups: Sequence[ReportGroup]) -> RolloutPromptBatch:
        """The batch, candidates of a group beside one another.

        Raises:
            InputError: If a candidate's errors are not stated by the criteria, or a prompt is too long; names the
                group and the candidate.
        """
        prompts, target, reports, places, truncated = [], [], [], [], 0
        for place, group in enumerate(groups):
            for number, candidate in enumerate(group.candidates, 1):
                where = f"group {group.id!r}, candidate {number}"
                path, was_cut = self._encode_prompt(group.reference, candidate.text, where)
                truncated += was_cut
                prompts.append(tuple(map(tuple, path)))
                target.append(error_tensor(candidate, self.criteria, where))
                reports.append((group.reference, candidate.text))
                places.append(place)
        ids = tuple(group.id for group in groups)
        return RolloutPromptBatch(
            tuple(prompts), torch.stack(target), tuple(reports), ids, torch.tensor(places), truncated
        )

    def length(self, group: ReportGroup) -> int:
        """Tokens of all prompts of a group.

        Raises:
            InputError: If a prompt is too long; names the group and the candidate.
        """
        return sum(
            sum(
                map(
                    len,
                    self._encode_prompt(group.reference, candidate.text, f"group {group.id!r}, candidate {number}")[0],
                )
            )
            for number, candidate in enumerate(group.candidates, 1)
        )

    def _encode_prompt(self, reference: str, candidate: str, label: str) -> tuple[list[list[int]], bool]:
        cut = self.on_too_long == "truncate"
        try:
            return self.prompt_encoder.encode(reference, candidate, cut)
        except PromptTooLongError as error:
            remedy = "a larger max_length" if cut else "too_long to truncate, or a larger max_length"
            raise InputError(f"{label}: {error}. Set {remedy}.") from error
