"""Batches of plain reports for next-token prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from radreward.criteria import Criteria
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.collators.base import Collator
from radreward.data.collators.sft import TargetTokens, target_tokens
from radreward.data.packing import pack
from radreward.prompts.generative_template import GenerativeTemplate
from radreward.text.normalization import normalize_report
from radreward.types import PackedBatch, ReportGroup


class LanguageModelBatch(NamedTuple):
    """Packed reports; a named tuple, so that Lightning can move it to a device."""

    packed: PackedBatch
    """A node per part of a report of at most `max_length` tokens."""
    targets: TargetTokens
    """All tokens of the parts but the first of each."""
    ids: tuple[str, ...]
    """Group ids."""

    @property
    def num_tokens(self) -> int:
        """Number of tokens with loss."""
        return len(self.targets.ids)


class LanguageModelCollator(Collator):
    """Turns the references of groups into packed plain text; longer reports are split into independent parts.

    Args:
        criteria: Criteria of the evaluator that is saved.
        template: Template of the evaluator that is saved, from which SFT starts.
        tokenizer: Name of the backbone whose tokenizer to use.
        max_length: Maximum number of tokens of a part.
        max_answer_length: As in the evaluator that is saved.

    Raises:
        ValueError: If `max_length` is less than 2.
    """

    needs_candidates = False

    def __init__(
        self,
        criteria: Criteria,
        template: GenerativeTemplate,
        tokenizer: str = "tiny-generator",
        max_length: int = 1024,
        max_answer_length: int = 1024,
    ) -> None:
        if max_length < 2:
            raise ValueError(f"Expected `max_length` to be >= 2 but got {max_length}.")
        self.prompt_encoder = ChatPromptEncoder(tokenizer, criteria, template, max_length, max_answer_length)

    def collate(self, groups: Sequence[ReportGroup]) -> LanguageModelBatch:
        """Return a batch."""
        parts = [[part] for group in groups for part in self._parts(group)]
        packed = pack(parts)
        return LanguageModelBatch(packed, target_tokens(packed, [1] * len(parts)), tuple(g.id for g in groups))

    def length(self, group: ReportGroup) -> int:
        """Return the number of tokens of the reference."""
        return sum(map(len, self._parts(group)))

    def _parts(self, group: ReportGroup) -> list[list[int]]:
        """Return the tokens of the reference and of its end, in parts of at least two tokens."""
        tokens = self.prompt_encoder.encode_answer(normalize_report(group.reference))
        start = self.prompt_encoder.tokenizer.bos_token_id
        tokens = tokens if start is None else [start, *tokens]
        size = self.prompt_encoder.max_length
        parts = [tokens[index : index + size] for index in range(0, len(tokens), size)]
        return parts if len(parts[-1]) > 1 or len(parts) == 1 else parts[:-1]
