"""Groups of reports to prompts with the answers that a model is to give: the loss is on the answers alone."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.data.chat_encoding import ChatPromptEncoder, ChatTemplateName
from radreward.data.collators.base import Collator, error_tensor
from radreward.data.collators.reward import PromptTooLongError
from radreward.data.packing import Packing, pack, to_rows
from radreward.errors import InputError
from radreward.prompts.generative_template import ErrorAnalysis, GenerativeTemplate
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.types import PackedBatch, ReportGroup

IGNORE_INDEX = -100
"""The label of tokens on which there is no loss."""


class SFTBatch(NamedTuple):
    """Packed prompts with their target answers; a named tuple, so that Lightning can move it to a device."""

    packed: PackedBatch
    """The answer of a candidate is in the candidate's node."""
    labels: Tensor
    """(R, L) int64 next token if it belongs to an answer; -100 elsewhere."""
    error_counts: Tensor
    """(C, N) float32 target error counts."""
    prompts: tuple[list[list[int]], ...]
    """(C,) prompts without answers, as segments of token ids."""
    answers: tuple[str, ...]
    """(C,) answers as text."""
    report_pairs: tuple[tuple[str, str], ...]
    """(C,) reference and candidate."""
    ids: tuple[str, ...]
    """Group ids."""
    group: Tensor
    """(C,) int64: index into `ids`."""


class AnalysisWriter(ABC):
    """Puts known errors in words; one method, called for every candidate each time that it is in a batch."""

    @abstractmethod
    def write(
        self, reference: str, candidate: str, error_counts: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> ErrorAnalysis:
        """The analysis that a model is to learn; `values` are the errors by the criteria, which it must state.

        All chance is to come from `rng`, which is the same for the same reports and epoch.
        """


class CountsOnlyWriter(AnalysisWriter):
    """States the numbers without a word."""

    def write(
        self, reference: str, candidate: str, error_counts: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> ErrorAnalysis:
        """See `AnalysisWriter.write`."""
        return ErrorAnalysis(error_counts, "", ((),) * len(criteria), ())


class SFTCollator(Collator):
    """Groups to packed prompts with answers; candidates of a reference share what stands before them.

    Args:
        criteria: What is judged; every candidate's errors are stated by it.
        tokenizer: Name of the backbone whose tokenizer to use.
        template: How is asked and answered.
        writer: Puts the errors in words; numbers alone where nothing is given.
        chat: Whether to speak as the backbone's chat layout does, see `ChatPromptEncoder`.
        packing: What candidates share a row; "rows" switches packing off.
        max_length: Most tokens of a prompt.
        max_answer: Most tokens of an answer; a longer one is an error in training, and cut in use.
        seed: Of the wording.
    """

    def __init__(
        self,
        criteria: Criteria,
        tokenizer: str = "embedded",
        template: GenerativeTemplate | None = None,
        analysis_writer: AnalysisWriter | None = None,
        chat_template: ChatTemplateName = "auto",
        packing: Packing = "tree",
        max_length: int = 1024,
        max_answer_length: int = 1024,
        seed: int = 0,
    ) -> None:
        self.criteria = criteria
        self.template = template or RadReasonTemplate()
        self.prompt_encoder = ChatPromptEncoder(
            tokenizer, criteria, self.template, max_length, max_answer_length, chat_template
        )
        self.analysis_writer = analysis_writer or CountsOnlyWriter()
        self.packing: Packing = packing
        self.seed = seed

    def collate(self, groups: Sequence[ReportGroup]) -> SFTBatch:
        """The batch.

        Raises:
            InputError: If errors are not stated by the criteria, or a prompt or an answer is too long; names the group
                and the candidate.
        """
        prompts, starts, paths, errors, answers, reports, places = [], [], [], [], [], [], []
        for place, group in enumerate(groups):
            for number, candidate in enumerate(group.candidates, 1):
                where = f"group {group.id!r}, candidate {number}"
                known = error_tensor(candidate, self.criteria, where)
                text = self.render_target(group.reference, candidate.text, known)
                prompt, tokens = self._encode_pair(group.reference, candidate.text, text, where)
                prompts.append(prompt)
                starts.append(len(prompt[-1]))
                paths.append([*prompt[:-1], [*prompt[-1], *tokens]])
                errors.append(known)
                answers.append(text)
                reports.append((group.reference, candidate.text))
                places.append(place)
        packed = pack(paths, self.packing)
        return SFTBatch(
            packed,
            next_token_labels(packed, starts),
            torch.stack(errors),
            tuple(prompts),
            tuple(answers),
            tuple(reports),
            tuple(group.id for group in groups),
            torch.tensor(places),
        )

    def unpacked(self, batch: SFTBatch) -> tuple[PackedBatch, Tensor]:
        """The same candidates, each in a row of its own, and their labels: what the packed form must agree with."""
        starts = [len(prompt[-1]) for prompt in batch.prompts]
        apart = to_rows(PackedBatch(*(part.cpu() for part in batch.packed)))
        return apart, next_token_labels(apart, starts)

    def length(self, group: ReportGroup) -> int:
        """Tokens of the reference, all candidates and their answers.

        Raises:
            InputError: As `collate`.
        """
        total = 0
        for number, candidate in enumerate(group.candidates, 1):
            where = f"group {group.id!r}, candidate {number}"
            text = self.render_target(group.reference, candidate.text, error_tensor(candidate, self.criteria, where))
            prompt, tokens = self._encode_pair(group.reference, candidate.text, text, where)
            total += len(prompt[-1]) + len(tokens) + (sum(map(len, prompt[:-1])) if number == 1 else 0)
        return total

    def render_target(self, reference: str, candidate: str, errors: Tensor) -> str:
        """The answer to learn for a candidate with these (N,) errors."""
        digest = hashlib.sha256(f"{self.seed}\n{reference}\n{candidate}".encode()).hexdigest()
        values = tuple(errors.tolist())
        analysis = self.analysis_writer.write(reference, candidate, values, self.criteria, Random(digest))
        return self.template.render_answer(analysis, self.criteria)

    def _encode_pair(
        self, reference: str, candidate: str, answer: str, label: str
    ) -> tuple[list[list[int]], list[int]]:
        try:
            prompt = self.prompt_encoder.encode(reference, candidate, truncate=False)[0]
        except PromptTooLongError as error:
            raise InputError(f"{label}: {error}. Set a larger max_length.") from error
        tokens = self.prompt_encoder.encode_answer(answer)
        if len(tokens) > self.prompt_encoder.max_answer_length:
            raise InputError(
                f"{label}: expected an answer of at most {self.prompt_encoder.max_answer_length} tokens but it has {len(tokens)}. "
                "Set a larger max_answer."
            )
        return prompt, tokens


def next_token_labels(packed: PackedBatch, starts: Sequence[int]) -> Tensor:
    """(R, L) int64: the token that follows each token of an answer, and its prompt's last; `IGNORED` elsewhere.

    Args:
        packed: Prompts with answers; an answer is in its candidate's node.
        starts: (C,) where in this node each answer begins.
    """
    wanted = torch.full_like(packed.input_ids, IGNORE_INDEX)
    for (row, leaf), start in zip(packed.candidate_nodes.tolist(), starts, strict=True):
        columns = (packed.node_ids[row] == leaf).nonzero().flatten()
        wanted[row, columns[start - 1 : -1]] = packed.input_ids[row, columns[start:]]
    return wanted
