"""Packed batches for a reward model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from radreward.criteria import Criteria
from radreward.criteria.pairs import make_pairs
from radreward.data.collators.base import Collator, candidates_of, error_tensor
from radreward.data.located_error_targets import (
    StatementErrors,
    located_error_targets,
    statement_errors,
    unknown_statement_errors,
)
from radreward.data.packing import Packing, pack_paths
from radreward.data.prompt_encoder import OnTooLong, PromptEncoder
from radreward.prompts import PlainPairTemplate, PromptTemplate
from radreward.types import Candidate, ReportGroup, RewardTargets, RewardTrainingBatch, Side, TokenPath


class RewardCollator(Collator):
    """Turns groups into a packed batch with targets and pairs.

    Args:
        criteria: The criteria of every candidate's error counts.
        tokenizer: Name of the backbone whose tokenizer to use.
        template: Layout of the prompts; the two texts alone by default.
        packing: "tree" encodes instruction and reference once for all candidates, "rows" once per candidate.
        max_length: Maximum number of tokens from the root to a candidate's end.
        on_too_long: "error" stops at a longer prompt and names it; "truncate" truncates reference and candidate, and
            counts the prompt.

    Attributes:
        locates_errors: Add the targets of located errors to a batch. They take most of its time, so the training module
            turns this off for objectives that do not need them.
    """

    def __init__(
        self,
        criteria: Criteria,
        tokenizer: str = "embedded",
        template: PromptTemplate | None = None,
        packing: Packing = "tree",
        max_length: int = 512,
        on_too_long: OnTooLong = "error",
    ) -> None:
        self.criteria = criteria
        self.prompt_encoder = PromptEncoder(tokenizer, criteria, template or PlainPairTemplate(), max_length)
        self.packing: Packing = packing
        self.on_too_long: OnTooLong = on_too_long
        self.locates_errors = True

    def collate(self, groups: Sequence[ReportGroup]) -> RewardTrainingBatch:
        """Return a batch.

        Raises:
            InputError: If error counts do not match the criteria, or a prompt is too long. The message names the group
                and the candidate.
        """
        paths, errors, finding_weights, located, group_indices, report_pairs = [], [], [], [], [], []
        num_truncated = 0
        for index, reference, candidate, label in candidates_of(groups):
            path, truncated = self.prompt_encoder.encode_or_raise(reference, candidate.text, self.on_too_long, label)
            num_truncated += truncated
            paths.append(path)
            errors.append(error_tensor(candidate, self.criteria, label))
            finding_weights.append(candidate.finding_weights or (math.nan, math.nan))
            if self.locates_errors:
                located.append(self._statement_errors(reference, candidate, path, label))
            group_indices.append(index)
            report_pairs.append((reference, candidate.text))
        rewards, group = self.criteria.target_rewards(torch.stack(errors)), torch.tensor(group_indices)
        targets = RewardTargets(
            rewards,
            group,
            pairs=make_pairs(self.criteria.total(rewards), group),
            finding_weights=torch.tensor(finding_weights, dtype=torch.float32),
            located_errors=located_error_targets(located) if self.locates_errors else None,
        )
        ids = tuple(group.id for group in groups)
        return RewardTrainingBatch(pack_paths(paths, self.packing), targets, ids, num_truncated, tuple(report_pairs))

    def _statement_errors(self, reference: str, candidate: Candidate, path: TokenPath, label: str) -> StatementErrors:
        num_tokens = {
            Side.CANDIDATE: path.num_own_tokens,
            Side.REFERENCE: len(path.shared[-1]) if path.shared else 0,
        }
        if candidate.located_errors is None:
            return unknown_statement_errors(num_tokens, len(self.criteria))
        segments = self.prompt_encoder.render(reference, candidate.text)
        tokenizer = self.prompt_encoder.segment_tokenizer
        return statement_errors(candidate.located_errors, segments, num_tokens, self.criteria, tokenizer, label)

    def length(self, group: ReportGroup) -> int:
        """Return the number of tokens of the reference and all candidates, before truncation.

        Raises:
            InputError: If a prompt is too long. The message names the group and the candidate.
        """
        if self.on_too_long == "error":
            for _, reference, candidate, label in candidates_of([group]):
                self.prompt_encoder.encode_or_raise(reference, candidate.text, "error", label)
        paths = [self.prompt_encoder.token_path(group.reference, candidate.text) for candidate in group.candidates]
        return paths[0].num_tokens + sum(path.num_own_tokens for path in paths[1:])
