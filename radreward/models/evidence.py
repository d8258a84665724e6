"""Evidence per token: how much of each error every place of the two reports shows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.models.pooling import Pooling, TokenSpans, node_spans
from radreward.types import PackedBatch

WINDOW = 9
"""Number of tokens that share evidence: about one statement."""
INITIAL_BIAS = -3.0
"""Evidence is near 0 at the start of training: most places of most candidates are right."""


class TokenEvidence(NamedTuple):
    """Evidence (C, S, K) of the tokens of one side of each candidate, 0 at padding, and where the tokens are."""

    values: Tensor
    spans: TokenSpans


class EvidencePooling(Pooling):
    """Sum over tokens of evidence that is never negative: a place without an error cannot hide an error elsewhere.

    Each token x of one side is aligned with y = Σ_t softmax_t(e^τ cos(k_x, k_t)) v_t on the other side, by keys k that
    differ from the compared values v, in several heads. A layer compares [v_x, y, |v_x - y|, v_x·y]; a convolution over
    `WINDOW` tokens joins a finding with its side, severity and comparison. With z the K outputs of a token,

        evidence = softplus(maximum of z over the window around the token) / WINDOW

    so one error in a statement adds about one, whatever the number of its words, and the sum over the tokens of
    candidate (additions, wrong details) and reference (omissions) has no ceiling.

    Args:
        hidden_size: Hidden size of the backbone.
        output_size: Number of kinds of evidence (K).
        comparison_size: Size of keys and values.
        heads: Number of alignments of a token.
    """

    def __init__(self, hidden_size: int, output_size: int, comparison_size: int = 96, heads: int = 4) -> None:
        super().__init__(hidden_size)
        self.output_size, self.heads = output_size, heads
        self.key = nn.Linear(hidden_size, comparison_size)
        self.value = nn.Linear(hidden_size, comparison_size)
        self.log_sharpness = nn.Parameter(torch.full((heads, 1, 1), 2.5))
        self.compare = nn.Linear(4 * comparison_size, comparison_size)
        self.neighbours = nn.Conv1d(
            comparison_size, comparison_size, WINDOW, padding=WINDOW // 2, groups=comparison_size
        )
        self.mix = nn.Linear(comparison_size, comparison_size)
        self.candidate_evidence = nn.Linear(comparison_size, output_size)
        self.reference_evidence = nn.Linear(comparison_size, output_size)
        for layer in (self.candidate_evidence, self.reference_evidence):
            nn.init.normal_(layer.weight, std=0.05)
            nn.init.constant_(layer.bias, INITIAL_BIAS)

    def forward(self, hidden: Tensor, packed: PackedBatch) -> Tensor:
        """See `Pooling.forward`."""
        candidate, reference = self.token_evidence(hidden, packed)
        return candidate.values.sum(1) + reference.values.sum(1)

    def token_evidence(self, hidden: Tensor, packed: PackedBatch) -> tuple[TokenEvidence, TokenEvidence]:
        """Return the evidence of the tokens of candidates and of their references, from (T, H) hidden states."""
        nodes = packed.candidate_nodes
        spans = node_spans(packed, nodes), node_spans(packed, packed.parent_ids[nodes])
        states = [span.gather(hidden) for span in spans]
        (candidate_keys, reference_keys), (candidate_values, reference_values) = (
            [layer(state) for state in states] for layer in (self.key, self.value)
        )
        candidate, reference = (span.mask for span in spans)
        found = self._compare(
            candidate_values, candidate, self._align(candidate_keys, reference_keys, reference_values, reference)
        )
        missed = self._compare(
            reference_values, reference, self._align(reference_keys, candidate_keys, candidate_values, candidate)
        )
        return (
            TokenEvidence(_windowed(self.candidate_evidence(found), candidate), spans[0]),
            TokenEvidence(_windowed(self.reference_evidence(missed), reference), spans[1]),
        )

    def _align(self, keys: Tensor, other_keys: Tensor, other_values: Tensor, other_mask: Tensor) -> Tensor:
        """Return for (C, S, D) tokens the (C, S, D) values of the other side's (C, T, D) tokens that they match."""
        own, other = (F.normalize(self._split(tensor), dim=-1) for tensor in (keys, other_keys))
        similarity = own @ other.transpose(-1, -2) * self.log_sharpness.exp()
        similarity = similarity.masked_fill(~other_mask[:, None, None], torch.finfo(similarity.dtype).min)
        return (similarity.softmax(-1) @ self._split(other_values)).transpose(1, 2).flatten(2)

    def _split(self, tensor: Tensor) -> Tensor:
        """Return (C, S, D) as (C, heads, S, D / heads)."""
        return tensor.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _compare(self, tokens: Tensor, mask: Tensor, aligned: Tensor) -> Tensor:
        """Return the (C, S, D) comparison of tokens with what they are aligned with, joined with their neighbours'."""
        features = torch.cat([tokens, aligned, (tokens - aligned).abs(), tokens * aligned], -1)
        compared = F.gelu(self.compare(features)) * mask.unsqueeze(-1)
        return compared + F.gelu(self.mix(self.neighbours(compared.transpose(1, 2)).transpose(1, 2)))


def _windowed(logits: Tensor, mask: Tensor) -> Tensor:
    """Return the (C, S, K) evidence of (C, S, K) outputs, 0 at padding."""
    minimum = torch.finfo(logits.dtype).min
    logits = logits.masked_fill(~mask.unsqueeze(-1), minimum).transpose(1, 2)
    largest = F.max_pool1d(logits, WINDOW, stride=1, padding=WINDOW // 2).transpose(1, 2)
    return F.softplus(largest) / WINDOW * mask.unsqueeze(-1)
