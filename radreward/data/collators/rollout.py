"""Groups of reports to prompts, one for each candidate, for a policy that answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch

from radreward.criteria import Criteria
from radreward.data.chat_encoding import Chat, Questions
from radreward.data.collators.base import Collator, known_errors
from radreward.data.collators.reward import TooLong
from radreward.errors import InputError
from radreward.prompts.generative_template import AnswerTemplate
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.types import PromptBatch, ReportGroup


class PolicyPrompts(Collator):
    """Groups to prompts with what is known of each candidate.

    Args:
        criteria: What is judged; every candidate's errors are stated by it.
        tokenizer: Name of the backbone whose tokenizer to use.
        template: How reports are put before the model, and how its answers are read.
        chat: Whether to speak as the backbone's chat layout does, see `Questions`.
        max_length: Most tokens of a prompt.
        max_answer: Most tokens of an answer; a longer one is cut.
        too_long: What to do with a longer one: stop with an error that names it, or cut reference and candidate,
            which is counted in the batch.
    """

    def __init__(
        self,
        criteria: Criteria,
        tokenizer: str = "tiny-llama",
        template: AnswerTemplate | None = None,
        chat: Chat = "auto",
        max_length: int = 1024,
        max_answer: int = 512,
        too_long: Literal["error", "truncate"] = "error",
    ) -> None:
        self.criteria = criteria
        self.template = template or RadReasonTemplate()
        self.questions = Questions(tokenizer, criteria, self.template, max_length, max_answer, chat)
        self.too_long = too_long

    def collate(self, groups: Sequence[ReportGroup]) -> PromptBatch:
        """The batch, candidates of a group beside one another.

        Raises:
            InputError: If a candidate's errors are not stated by the criteria, or a prompt is too long; names the
                group and the candidate.
        """
        prompts, target, reports, places, truncated = [], [], [], [], 0
        for place, group in enumerate(groups):
            for number, candidate in enumerate(group.candidates, 1):
                where = f"group {group.id!r}, candidate {number}"
                path, was_cut = self._fit(group.reference, candidate.text, where)
                truncated += was_cut
                prompts.append(tuple(map(tuple, path)))
                target.append(known_errors(candidate, self.criteria, where))
                reports.append((group.reference, candidate.text))
                places.append(place)
        ids = tuple(group.id for group in groups)
        return PromptBatch(tuple(prompts), torch.stack(target), tuple(reports), ids, torch.tensor(places), truncated)

    def length(self, group: ReportGroup) -> int:
        """Tokens of all prompts of a group.

        Raises:
            InputError: If a prompt is too long; names the group and the candidate.
        """
        return sum(
            sum(map(len, self._fit(group.reference, candidate.text, f"group {group.id!r}, candidate {number}")[0]))
            for number, candidate in enumerate(group.candidates, 1)
        )

    def _fit(self, reference: str, candidate: str, where: str) -> tuple[list[list[int]], bool]:
        cut = self.too_long == "truncate"
        try:
            return self.questions.fit(reference, candidate, cut)
        except TooLong as error:
            remedy = "a larger max_length" if cut else "too_long to truncate, or a larger max_length"
            raise InputError(f"{where}: {error}. Set {remedy}.") from error
