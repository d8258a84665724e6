"""Prompts with target answers for supervised fine-tuning; only the answers contribute to the loss."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.data.chat_encoding import ChatPromptEncoder, ChatTemplateName
from radreward.data.collators.base import Collator, LabelledCandidate, candidates_of, error_tensor
from radreward.data.packing import Packing, node_starts, pack, to_rows
from radreward.data.prompt_encoder import PromptTooLongError
from radreward.devices import copy_to
from radreward.errors import TooLongError
from radreward.prompts.generative_template import ErrorAnalysis, GenerativeTemplate
from radreward.types import PackedBatch, ReportGroup


class TargetTokens(NamedTuple):
    """The n tokens of a packed batch that a language model learns to predict."""

    columns: Tensor
    """(n,) int64: index of the token before each of them."""
    ids: Tensor
    """(n,) int64."""


class SFTBatch(NamedTuple):
    """Packed prompts with their target answers; a named tuple, so that Lightning can move it to a device."""

    packed: PackedBatch
    """The answer of a candidate is in the candidate's node."""
    targets: TargetTokens
    """The tokens of the answers."""
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

    @property
    def num_tokens(self) -> int:
        """Number of tokens with loss."""
        return len(self.targets.ids)

    def unpacked(self) -> tuple[PackedBatch, TargetTokens]:
        """Return the same candidates in separate sequences with their target tokens, for the packing check."""
        rows = to_rows(self.packed)
        return rows, target_tokens(rows, [len(prompt[-1]) for prompt in self.prompts])


class AnalysisWriter(ABC):
    """Explains error counts in words."""

    @abstractmethod
    def write(
        self, reference: str, candidate: str, error_counts: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> ErrorAnalysis:
        """Return the analysis that a model learns, with these counts; called whenever a candidate is in a batch.

        Use no other randomness than `rng`, which is seeded by the reports.
        """


class CountsOnlyWriter(AnalysisWriter):
    """States the counts without an explanation."""

    def write(
        self, reference: str, candidate: str, error_counts: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> ErrorAnalysis:
        """See `AnalysisWriter.write`."""
        return ErrorAnalysis(error_counts, "", ((),) * len(criteria), ())


class _EncodedCandidate(NamedTuple):
    errors: Tensor
    text: str
    prompt: list[list[int]]
    answer: list[int]


class SFTCollator(Collator):
    """Turns groups into packed prompts with answers; candidates of a reference share the tokens before them.

    Args:
        criteria: The criteria of every candidate's error counts.
        template: Layout of the prompts and answers.
        tokenizer: Name of the backbone whose tokenizer to use.
        analysis_writer: Explains the counts in words; states the counts alone by default.
        chat_template: Chat layout around the prompt, see `ChatPromptEncoder`.
        packing: "tree" encodes instruction and reference once for all candidates, "rows" once per candidate.
        max_length: Maximum number of tokens of a prompt.
        max_answer_length: Maximum number of tokens of an answer; a longer one is an error in training, and truncated
            in use.
        seed: Seed of the wording.
    """

    def __init__(
        self,
        criteria: Criteria,
        template: GenerativeTemplate,
        tokenizer: str = "embedded",
        analysis_writer: AnalysisWriter | None = None,
        chat_template: ChatTemplateName = "auto",
        packing: Packing = "tree",
        max_length: int = 1024,
        max_answer_length: int = 1024,
        seed: int = 0,
    ) -> None:
        self.criteria = criteria
        self.template = template
        self.prompt_encoder = ChatPromptEncoder(
            tokenizer, criteria, template, max_length, max_answer_length, chat_template
        )
        self.analysis_writer = analysis_writer or CountsOnlyWriter()
        self.packing: Packing = packing
        self.seed = seed

    def collate(self, groups: Sequence[ReportGroup]) -> SFTBatch:
        """Return a batch.

        Raises:
            InputError: If error counts do not match the criteria, or a prompt or an answer is too long. The message
                names the group and the candidate.
        """
        entries = list(candidates_of(groups))
        encoded = [self._encode(entry) for entry in entries]
        packed = pack([[*prompt[:-1], [*prompt[-1], *answer]] for _, _, prompt, answer in encoded], self.packing)
        return SFTBatch(
            packed=packed,
            targets=target_tokens(packed, [len(entry.prompt[-1]) for entry in encoded]),
            error_counts=torch.stack([entry.errors for entry in encoded]),
            prompts=tuple(entry.prompt for entry in encoded),
            answers=tuple(entry.text for entry in encoded),
            report_pairs=tuple((entry.reference, entry.candidate.text) for entry in entries),
            ids=tuple(group.id for group in groups),
            group=torch.tensor([entry.group_index for entry in entries]),
        )

    def length(self, group: ReportGroup) -> int:
        """Return the number of tokens of the reference, all candidates and their answers.

        Raises:
            InputError: As `collate`.
        """
        encoded = [self._encode(entry) for entry in candidates_of([group])]
        shared = sum(map(len, encoded[0].prompt[:-1]))
        return shared + sum(len(entry.prompt[-1]) + len(entry.answer) for entry in encoded)

    def render_target(self, reference: str, candidate: str, errors: Tensor) -> str:
        """Return the target answer for a candidate with these (N,) error counts."""
        digest = hashlib.sha256(f"{self.seed}\n{reference}\n{candidate}".encode()).hexdigest()
        counts = tuple(errors.tolist())
        analysis = self.analysis_writer.write(reference, candidate, counts, self.criteria, Random(digest))
        return self.template.render_answer(analysis, self.criteria)

    def _encode(self, entry: LabelledCandidate) -> _EncodedCandidate:
        errors = error_tensor(entry.candidate, self.criteria, entry.label)
        text = self.render_target(entry.reference, entry.candidate.text, errors)
        try:
            prompt, _ = self.prompt_encoder.encode(entry.reference, entry.candidate.text, truncate=False)
        except PromptTooLongError as error:
            raise TooLongError(f"{entry.label}: {error}. Set a larger max_length, or data.skip_too_long.") from error
        answer = self.prompt_encoder.encode_answer(text)
        limit = self.prompt_encoder.max_answer_length
        if len(answer) > limit:
            raise TooLongError(
                f"{entry.label}: Expected an answer of at most {limit} tokens but it has {len(answer)}. "
                "Set a larger max_answer_length, or data.skip_too_long."
            )
        return _EncodedCandidate(errors, text, prompt.segments, answer)


def target_tokens(packed: PackedBatch, starts: Sequence[int]) -> TargetTokens:
    """Return the tokens of the answers.

    Args:
        packed: Prompts with answers; an answer is the end of its candidate's node.
        starts: (C,) start of each answer in this node.
    """
    first, ends = node_starts(packed), list(accumulate(packed.node_lengths))
    ranges = [
        torch.arange(first[node] + start - 1, ends[node] - 1)
        for node, start in zip(packed.leaf_nodes, starts, strict=True)
    ]
    columns = copy_to(torch.cat(ranges), packed.input_ids.device)
    return TargetTokens(columns, packed.input_ids[columns + 1])
