"""From hidden states of packed rows to one vector per candidate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.types import PackedBatch


class TokenSpans(NamedTuple):
    """Tokens of one node per candidate, padded: where they stand, and which are real."""

    columns: Tensor
    """(C, S) int64: columns of the row."""
    mask: Tensor
    """(C, S) bool."""

    def gather(self, hidden: Tensor, rows: Tensor) -> Tensor:
        """(R, L, H) hidden states to (C, S, H), zeros where padded."""
        return hidden[rows.unsqueeze(1), self.columns] * self.mask.unsqueeze(-1)


def node_spans(packed: PackedBatch, nodes: Tensor) -> TokenSpans:
    """Where the tokens of a node stand.

    Args:
        packed: The rows.
        nodes: (C,) a node of the row of each candidate; one that does not exist has an empty span.
    """
    of_row = packed.node_ids[packed.candidate_nodes[:, 0]]  # (C, L)
    own = (of_row == nodes.unsqueeze(1)) & (of_row >= 0)  # a root has no parent, which is no padding either
    lengths = own.sum(1)
    start = own.int().argmax(1)  # nodes are contiguous
    offset = torch.arange(int(lengths.max()), device=nodes.device)
    mask = offset < lengths.unsqueeze(1)
    return TokenSpans((start.unsqueeze(1) + offset) * mask, mask)


class Pooling(nn.Module, ABC):
    """Hidden states to one vector per candidate.

    Args:
        hidden_size: Width of the backbone.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.output_size = hidden_size

    @abstractmethod
    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """(R, L, H) hidden states in float32 to (C, width)."""


class LastTokenPooling(Pooling):
    """The last real token of the candidate, found by its node: it does not matter what the pad token is."""

    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """See `Pooling.forward`."""
        rows, leaves = packed.candidate_nodes.unbind(1)
        spans = node_spans(packed, leaves)
        last = spans.columns.gather(1, spans.mask.sum(1, keepdim=True) - 1).squeeze(1)
        return hidden[rows, last]


class MeanPooling(Pooling):
    """The mean over the candidate's own tokens."""

    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """See `Pooling.forward`."""
        rows, leaves = packed.candidate_nodes.unbind(1)
        spans = node_spans(packed, leaves)
        return spans.gather(hidden, rows).sum(1) / spans.mask.sum(1, keepdim=True)


class FirstTokenPooling(Pooling):
    """The first token of the candidate: for encoders, whose tokens see both ways."""

    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """See `Pooling.forward`."""
        rows, leaves = packed.candidate_nodes.unbind(1)
        return hidden[rows, node_spans(packed, leaves).columns[:, 0]]


class CrossMatchingPooling(Pooling):
    """Compares the tokens of candidate and reference, each way (in the manner of ESIM, Chen et al. 2017).

    In a shared row the reference cannot see the candidate, so nothing in it can say what the candidate leaves out.
    Here every token x of one side finds its counterpart y = Σ_t softmax_t(e^τ cos(x, t)) t on the other side; what
    remains of [x, y, |x - y|, x·y], summed (how much is wrong) and maximal (whether anything is), makes the vector:
    of the candidate (what is wrong or too much) and of the reference (what is missing).

    Args:
        hidden_size: Width of the backbone.
        size: Width of the comparison.
    """

    def __init__(self, hidden_size: int, comparison_size: int = 96) -> None:
        super().__init__(hidden_size)
        self.project = nn.Linear(hidden_size, comparison_size)
        self.compare = nn.Linear(4 * comparison_size, comparison_size)
        self.log_sharpness = nn.Parameter(torch.tensor(2.5))
        self.output_size = 4 * comparison_size

    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """See `Pooling.forward`."""
        rows, leaves = packed.candidate_nodes.unbind(1)
        parents = packed.parent_ids[rows, leaves]
        reference, candidate = node_spans(packed, parents), node_spans(packed, leaves)
        x = self.project(reference.gather(hidden, rows))
        y = self.project(candidate.gather(hidden, rows))
        sides = (
            *self._compare_side(y, x, candidate.mask, reference.mask),
            *self._compare_side(x, y, reference.mask, candidate.mask),
        )
        return torch.cat(sides, -1)

    def _compare_side(
        self, tokens: Tensor, other_tokens: Tensor, mask: Tensor, other_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(C, S, D) against (C, T, D): sum and maximum (C, D) of what the comparison leaves of each token."""
        least = torch.finfo(tokens.dtype).min
        likeness = (
            F.normalize(tokens, dim=-1) @ F.normalize(other_tokens, dim=-1).transpose(1, 2) * self.log_sharpness.exp()
        )
        found = likeness.masked_fill(~other_mask.unsqueeze(1), least).softmax(-1) @ other_tokens
        rest = F.gelu(self.compare(torch.cat([tokens, found, (tokens - found).abs(), tokens * found], -1)))
        total = (rest * mask.unsqueeze(-1)).sum(1) / 10  # tens of tokens: keeps the vector near unit size
        return total, rest.masked_fill(~mask.unsqueeze(-1), least).amax(1)


POOLINGS: dict[str, type[Pooling]] = {
    "last": LastTokenPooling,
    "mean": MeanPooling,
    "first": FirstTokenPooling,
    "matching": CrossMatchingPooling,
}
