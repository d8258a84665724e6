"""Pooling of hidden states of packed tokens to one vector per candidate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate, repeat
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.data.packing import node_starts
from radreward.devices import copy_to
from radreward.types import PackedBatch


class TokenSpans(NamedTuple):
    """Tokens of the nodes of each candidate, one node after the other, padded; on the CPU before `to`."""

    columns: Tensor
    """(C, S) int64: indices of the tokens."""
    mask: Tensor
    """(C, S) bool: True for tokens, False for padding."""
    node: Tensor
    """(C, S) int64: number of each token's node among the nodes of its candidate; the last one at padding."""

    def to(self, device: torch.device) -> TokenSpans:
        """Return the spans on a device."""
        return TokenSpans(*(copy_to(part, device) for part in self))

    def gather(self, hidden: Tensor) -> Tensor:
        """Return (C, S, H) states, zeros at padding, from (T, H) hidden states."""
        return hidden[self.columns] * self.mask.unsqueeze(-1)


def node_spans(packed: PackedBatch, nodes: Sequence[Sequence[int]]) -> TokenSpans:
    """Return the tokens of the nodes of each of C candidates; -1, the parent of a root, has no token."""
    padded = pad_rows(nodes, -1)
    index = padded.clamp_min(0)
    lengths = torch.tensor(packed.node_lengths)[index] * (padded >= 0)
    ends = lengths.cumsum(1)  # of each node among the tokens of its candidate
    offset = torch.arange(int(ends[:, -1].max())).expand(len(padded), -1).contiguous()
    mask = offset < ends[:, -1:]
    node = torch.searchsorted(ends, offset, right=True).clamp_max(padded.shape[1] - 1)
    first = torch.tensor(node_starts(packed))[index] - (ends - lengths)  # of a node's tokens, less those before it
    return TokenSpans((first.gather(1, node) + offset) * mask, mask, node)


def pad_rows(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    """Return rows of numbers as a tensor on the CPU, padded with a value.

    >>> pad_rows([[1, 2], [3]], -1).tolist()
    [[1, 2], [3, -1]]
    """
    width = max(map(len, rows))
    return torch.tensor([[*row, *repeat(value, width - len(row))] for row in rows])


def candidate_spans(packed: PackedBatch) -> TokenSpans:
    """Return the tokens of each candidate."""
    return node_spans(packed, packed.candidate_nodes)


def reference_spans(packed: PackedBatch) -> TokenSpans:
    """Return the tokens of the reference of each candidate."""
    return node_spans(packed, [[packed.parent_ids[nodes[0]]] for nodes in packed.candidate_nodes])


class Pooling(nn.Module, ABC):
    """Hidden states to one vector per candidate.

    Args:
        hidden_size: Hidden size of the backbone.

    Attributes:
        output_size: Size of the vectors.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.output_size = hidden_size

    @abstractmethod
    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """Map (T, H) float32 hidden states to (C, output_size) vectors."""


class LastTokenPooling(Pooling):
    """Last token of the candidate."""

    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """See `Pooling.forward`."""
        ends = list(accumulate(packed.node_lengths))
        return hidden[copy_to(torch.tensor([ends[node] - 1 for node in packed.leaf_nodes]), hidden.device)]


class MeanPooling(Pooling):
    """Mean of the candidate's own tokens."""

    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """See `Pooling.forward`."""
        spans = candidate_spans(packed).to(hidden.device)
        return spans.gather(hidden).sum(1) / spans.mask.sum(1, keepdim=True)


class FirstTokenPooling(Pooling):
    """First token of the candidate, for encoders."""

    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """See `Pooling.forward`."""
        starts = node_starts(packed)
        return hidden[copy_to(torch.tensor([starts[node] for node in packed.leaf_nodes]), hidden.device)]


class CrossMatchingPooling(Pooling):
    """Comparison of candidate tokens with reference tokens and the reverse (similar to ESIM, Chen et al. 2017).

    In a packed batch the reference does not attend to the candidate, so its states cannot show omissions. Here every
    token x of one side is aligned with y = Σ_t softmax_t(e^τ cos(x, t)) t on the other side. A layer compares
    [x, y, |x - y|, x·y]; the sum and the maximum of its output over the candidate (errors and additions) and over the
    reference (omissions) form the vector.

    Args:
        hidden_size: Hidden size of the backbone.
        comparison_size: Size of the comparison.
    """

    def __init__(self, hidden_size: int, comparison_size: int = 96) -> None:
        super().__init__(hidden_size)
        self.project = nn.Linear(hidden_size, comparison_size)
        self.compare = nn.Linear(4 * comparison_size, comparison_size)
        self.log_sharpness = nn.Parameter(torch.tensor(2.5))
        self.output_size = 4 * comparison_size

    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """See `Pooling.forward`."""
        reference, candidate = reference_spans(packed).to(hidden.device), candidate_spans(packed).to(hidden.device)
        x, y = self.project(reference.gather(hidden)), self.project(candidate.gather(hidden))
        sides = (
            *self._compare_side(y, x, candidate.mask, reference.mask),
            *self._compare_side(x, y, reference.mask, candidate.mask),
        )
        return torch.cat(sides, -1)

    def _compare_side(
        self, tokens: Tensor, other_tokens: Tensor, mask: Tensor, other_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return sum and maximum, each (C, D), of the comparison of (C, S, D) tokens with (C, T, D) other tokens."""
        minimum = torch.finfo(tokens.dtype).min
        similarity = F.normalize(tokens, dim=-1) @ F.normalize(other_tokens, dim=-1).transpose(1, 2)
        similarity = similarity * self.log_sharpness.exp()
        aligned = similarity.masked_fill(~other_mask.unsqueeze(1), minimum).softmax(-1) @ other_tokens
        features = torch.cat([tokens, aligned, (tokens - aligned).abs(), tokens * aligned], -1)
        compared = F.gelu(self.compare(features))
        total = (compared * mask.unsqueeze(-1)).sum(1) / 10  # tens of tokens: keeps the vector near unit size
        return total, compared.masked_fill(~mask.unsqueeze(-1), minimum).amax(1)


POOLINGS: dict[str, type[Pooling]] = {
    "last": LastTokenPooling,
    "mean": MeanPooling,
    "first": FirstTokenPooling,
    "matching": CrossMatchingPooling,
}
