"""Groups of reports to prompts with the answers that a model is to give: the loss is on the answers alone."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random

import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.data.chat_encoding import Chat, Questions
from radreward.data.collators.base import Collator, known_errors
from radreward.data.collators.reward import TooLong
from radreward.data.packing import Packing, as_rows, pack
from radreward.errors import InputError
from radreward.prompts.generative_template import AnswerTemplate
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.types import Analysis, AnswerBatch, PackedBatch, ReportGroup

IGNORED = -100
"""The label of tokens on which there is no loss."""


class AnalysisWriter(ABC):
    """Puts known errors in words; one method, called for every candidate each time that it is in a batch."""

    @abstractmethod
    def write(
        self, reference: str, candidate: str, values: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> Analysis:
        """The analysis that a model is to learn; `values` are the errors by the criteria, which it must state.

        All chance is to come from `rng`, which is the same for the same reports and epoch.
        """


class CountsOnly(AnalysisWriter):
    """States the numbers without a word."""

    def write(
        self, reference: str, candidate: str, values: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> Analysis:
        """See `AnalysisWriter.write`."""
        return Analysis(values, "", ((),) * len(criteria), ())


class Responses(Collator):
    """Groups to packed prompts with answers; candidates of a reference share what stands before them.

    Args:
        criteria: What is judged; every candidate's errors are stated by it.
        tokenizer: Name of the backbone whose tokenizer to use.
        template: How is asked and answered.
        writer: Puts the errors in words; numbers alone where nothing is given.
        chat: Whether to speak as the backbone's chat layout does, see `Questions`.
        packing: What candidates share a row; "rows" switches packing off.
        max_length: Most tokens of a prompt.
        max_answer: Most tokens of an answer; a longer one is an error in training, and cut in use.
        seed: Of the wording.
    """

    def __init__(
        self,
        criteria: Criteria,
        tokenizer: str = "embedded",
        template: AnswerTemplate | None = None,
        writer: AnalysisWriter | None = None,
        chat: Chat = "auto",
        packing: Packing = "tree",
        max_length: int = 1024,
        max_answer: int = 1024,
        seed: int = 0,
    ) -> None:
        self.criteria = criteria
        self.template = template or RadReasonTemplate()
        self.questions = Questions(tokenizer, criteria, self.template, max_length, max_answer, chat)
        self.writer = writer or CountsOnly()
        self.packing: Packing = packing
        self.seed = seed

    def collate(self, groups: Sequence[ReportGroup]) -> AnswerBatch:
        """The batch.

        Raises:
            InputError: If errors are not stated by the criteria, or a prompt or an answer is too long; names the group
                and the candidate.
        """
        prompts, starts, paths, errors, answers, reports, places = [], [], [], [], [], [], []
        for place, group in enumerate(groups):
            for number, candidate in enumerate(group.candidates, 1):
                where = f"group {group.id!r}, candidate {number}"
                known = known_errors(candidate, self.criteria, where)
                text = self.answer(group.reference, candidate.text, known)
                prompt, tokens = self._tokens(group.reference, candidate.text, text, where)
                prompts.append(prompt)
                starts.append(len(prompt[-1]))
                paths.append([*prompt[:-1], [*prompt[-1], *tokens]])
                errors.append(known)
                answers.append(text)
                reports.append((group.reference, candidate.text))
                places.append(place)
        packed = pack(paths, self.packing)
        return AnswerBatch(
            packed,
            labels(packed, starts),
            torch.stack(errors),
            tuple(prompts),
            tuple(answers),
            tuple(reports),
            tuple(group.id for group in groups),
            torch.tensor(places),
        )

    def separate(self, batch: AnswerBatch) -> tuple[PackedBatch, Tensor]:
        """The same candidates, each in a row of its own, and their labels: what the packed form must agree with."""
        starts = [len(prompt[-1]) for prompt in batch.prompts]
        apart = as_rows(PackedBatch(*(part.cpu() for part in batch.packed)))
        return apart, labels(apart, starts)

    def length(self, group: ReportGroup) -> int:
        """Tokens of the reference, all candidates and their answers.

        Raises:
            InputError: As `collate`.
        """
        total = 0
        for number, candidate in enumerate(group.candidates, 1):
            where = f"group {group.id!r}, candidate {number}"
            text = self.answer(group.reference, candidate.text, known_errors(candidate, self.criteria, where))
            prompt, tokens = self._tokens(group.reference, candidate.text, text, where)
            total += len(prompt[-1]) + len(tokens) + (sum(map(len, prompt[:-1])) if number == 1 else 0)
        return total

    def answer(self, reference: str, candidate: str, known: Tensor) -> str:
        """The answer to learn for a candidate with these (N,) errors."""
        digest = hashlib.sha256(f"{self.seed}\n{reference}\n{candidate}".encode()).hexdigest()
        values = tuple(known.tolist())
        analysis = self.writer.write(reference, candidate, values, self.criteria, Random(digest))
        return self.template.render_answer(analysis, self.criteria)

    def _tokens(self, reference: str, candidate: str, answer: str, where: str) -> tuple[list[list[int]], list[int]]:
        try:
            prompt = self.questions.fit(reference, candidate, cut=False)[0]
        except TooLong as error:
            raise InputError(f"{where}: {error}. Set a larger max_length.") from error
        tokens = self.questions.answer(answer)
        if len(tokens) > self.questions.max_answer:
            raise InputError(
                f"{where}: expected an answer of at most {self.questions.max_answer} tokens but it has {len(tokens)}. "
                "Set a larger max_answer."
            )
        return prompt, tokens


def labels(packed: PackedBatch, starts: Sequence[int]) -> Tensor:
    """(R, L) int64: the token that follows each token of an answer, and its prompt's last; `IGNORED` elsewhere.

    Args:
        packed: Prompts with answers; an answer is in its candidate's node.
        starts: (C,) where in this node each answer begins.
    """
    wanted = torch.full_like(packed.input_ids, IGNORED)
    for (row, leaf), start in zip(packed.leaves.tolist(), starts, strict=True):
        columns = (packed.nodes[row] == leaf).nonzero().flatten()
        wanted[row, columns[start - 1 : -1]] = packed.input_ids[row, columns[start:]]
    return wanted
