"""Evidence of each error, per token of both reports."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.devices import copy_to
from radreward.models.pooling import TokenSpans, candidate_spans, pad_rows, reference_spans
from radreward.types import PackedBatch, Side

WINDOW = 9
"""Number of tokens that share evidence: about one statement."""
_INITIAL_BIAS = -3.0
"""Makes evidence start near 0: most statements of most candidates are correct."""

_MIN_WEIGHT = 0.005
"""Finding weight from which a statement counts as right or wrong."""
_PARTLY_RIGHT = 0.25
"""Ratio of matched to wrong weight from which a statement can explain a finding of the reference."""
_BLOCKED = 50.0
"""Subtracted from the alignment with an unrelated statement, whose weight is then below 1e-9."""
MIN_SUPPORT = 0.1
"""Evidence at which half of the wrong weight of a token counts."""


class TokenEvidence(NamedTuple):
    """Evidence of the S tokens of one side of each of C candidates, padded."""

    values: Tensor
    """(C, S, K), 0 at padding."""
    counterparts: Tensor
    """(C, S) int64: token of the other side with which each token is compared most."""
    mask: Tensor
    """(C, S) bool: True for tokens, False for padding."""

    def row(self, index: int) -> TokenEvidence:
        """Return the evidence of one candidate, (S, K) on the CPU, without padding."""
        size = int(self.mask[index].sum())
        return TokenEvidence(*(part[index, :size].cpu() for part in self))


class PairEvidence(NamedTuple):
    """Evidence of both reports of C pairs."""

    candidate: TokenEvidence
    reference: TokenEvidence

    def row(self, index: int) -> dict[Side, TokenEvidence]:
        """Return the evidence of one pair by side, see `TokenEvidence.row`."""
        return {Side.CANDIDATE: self.candidate.row(index), Side.REFERENCE: self.reference.row(index)}


def concentrated(wrong: Tensor, errors: Tensor) -> Tensor:
    """Concentrate the wrong weight on tokens with evidence: w·s / (s + 0.1) with s = max(w, e).

    Otherwise, small evidence at many correct tokens would add up to a wrong finding. The maximum includes w because a
    vague name has wrong weight but no error that the criteria count.

    Args:
        wrong: (C, S) evidence w of the wrong weight.
        errors: (C, S) evidence e of all errors at the same tokens.

    >>> concentrated(torch.tensor([0.5, 0.4, 0.01]), torch.tensor([0.9, 0.0, 0.0]))
    tensor([0.4500, 0.3200, 0.0009])
    """
    support = torch.maximum(wrong, errors)
    return wrong * support / (support + MIN_SUPPORT)


def sum_evidence(values: Tensor, num_criteria: int) -> Tensor:
    """Return the (..., K) sums of (..., S, K) evidence over tokens, with the wrong weight `concentrated`.

    Args:
        values: One column per criterion and, if the model predicts them, the matched and the wrong weight.
        num_criteria: Number of criteria.

    >>> sum_evidence(torch.tensor([[0.9, 1.0, 0.5], [0.0, 1.0, 0.01]]), 1)
    tensor([0.9000, 2.0000, 0.4509])
    """
    if values.shape[-1] == num_criteria:
        return values.sum(-2)
    wrong = concentrated(values[..., -1], values[..., :num_criteria].sum(-1))
    return torch.cat([values[..., :-1], wrong.unsqueeze(-1)], -1).sum(-2)


class TokenComparison(nn.Module):
    """Non-negative evidence per token, so that a correct statement cannot offset an error elsewhere.

    Each token x of one side is aligned with y = Σ_t softmax_t(e^τ cos(k_x, k_t)) v_t on the other side, by keys k that
    differ from the compared values v, in several heads. A layer compares [v_x, y, |v_x - y|, v_x·y]; a convolution over
    `WINDOW` tokens joins a finding with its side, severity and comparison. With z the K outputs of a token,

        evidence = softplus(maximum of z over the window around the token) / WINDOW

    so one error in a statement adds about 1, whatever the length of the statement. The sum over the tokens of candidate
    (additions, wrong details) and reference (omissions) is unbounded.

    A window does not reach from one node to the next. A wrong statement of the candidate must not hide an omission: if
    the model predicts finding weights and the candidate's statements are nodes of their own, the alignment of the
    reference multiplies the weight of the tokens of a statement by min(1, (m + 0.005) / (w / 4 + 0.005))^4, with m and
    w its matched and wrong weight. No gradient flows through this factor. It is 1 for a statement that is partly right:
    half of a finding, or all but its side.

    The vocabulary knows more findings than the model has learned: the matched weight of a statement whose findings the
    reference does not have (`PackedBatch.unrelated`) is wrong weight, and no token of the reference is aligned with it.

    Args:
        hidden_size: Hidden size of the backbone.
        output_size: Number of kinds of evidence (K).
        predicts_findings: The last two kinds are the matched and the wrong weight.
        comparison_size: Size of keys and values.
        heads: Number of alignments of a token.
    """

    def __init__(
        self,
        hidden_size: int,
        output_size: int,
        predicts_findings: bool = False,
        comparison_size: int = 96,
        heads: int = 4,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.predicts_findings = predicts_findings
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
            nn.init.constant_(layer.bias, _INITIAL_BIAS)

    def forward(self, hidden: Tensor, packed: PackedBatch) -> PairEvidence:
        """Return the evidence of the tokens of candidates and of their references, from (T, H) hidden states.

        The evidence of a window is assigned to its largest token, so that a neighbouring statement gets none.
        """
        spans = candidate_spans(packed)
        candidate = self._project(hidden, spans)
        reference = self._project(hidden, reference_spans(packed))
        evidence = self._compare(candidate, reference, self.candidate_evidence)
        num_nodes = max(map(len, packed.candidate_nodes))
        if self.predicts_findings and num_nodes > 1:
            unrelated = copy_to(pad_rows(packed.unrelated, False).gather(1, spans.node), hidden.device)
            evidence = evidence._replace(values=_without_match(evidence.values, unrelated))
            node = copy_to(spans.node, hidden.device)
            log_prior = _log_prior(evidence.values[..., -2:].detach(), node, num_nodes)
            candidate = candidate._replace(log_prior=log_prior - _BLOCKED * unrelated)
        return PairEvidence(evidence, self._compare(reference, candidate, self.reference_evidence))

    def _project(self, hidden: Tensor, spans: TokenSpans) -> _ProjectedSide:
        # Windows do not reach from one node to the next.
        slots = torch.arange(spans.mask.shape[1]) + WINDOW // 2 * spans.node
        num_slots = int(slots.max()) + 1
        spans, slots = spans.to(hidden.device), copy_to(slots, hidden.device)
        states = spans.gather(hidden)
        return _ProjectedSide(self.key(states), self.value(states), spans.mask, slots, num_slots)

    def _compare(self, own: _ProjectedSide, other: _ProjectedSide, output: nn.Linear) -> TokenEvidence:
        """Return the evidence of one side's tokens, compared with the other side's and joined with their neighbours."""
        keys, other_keys = (F.normalize(self._split(side.keys), dim=-1) for side in (own, other))
        similarity = keys @ other_keys.transpose(-1, -2) * self.log_sharpness.exp()
        if other.log_prior is not None:
            similarity = similarity + other.log_prior[:, None, None]
        similarity = similarity.masked_fill(~other.mask[:, None, None], torch.finfo(similarity.dtype).min)
        weights = similarity.softmax(-1)  # (C, heads, S, T)
        x, y = own.values, (weights @ self._split(other.values)).transpose(1, 2).flatten(2)
        compared = F.gelu(self.compare(torch.cat([x, y, (x - y).abs(), x * y], -1))) * own.mask.unsqueeze(-1)
        compared, mask = own.spread(compared), own.spread(own.mask.unsqueeze(-1)).squeeze(-1)
        joined = F.gelu(self.mix(self.neighbours(compared.transpose(1, 2)).transpose(1, 2)))
        values, peaks = _window_evidence(output(compared + joined), mask)
        values = torch.zeros_like(values).scatter_add_(1, peaks, values)
        return TokenEvidence(own.collect(values), weights.mean(1).argmax(-1), own.mask)

    def _split(self, tensor: Tensor) -> Tensor:
        """Return (C, S, D) as (C, heads, S, D / heads)."""
        return tensor.reshape(*tensor.shape[:-1], self.heads, -1).transpose(1, 2)


class _ProjectedSide(NamedTuple):
    """Keys and values (C, S, D) of the tokens of one side, and their mask (C, S)."""

    keys: Tensor
    values: Tensor
    mask: Tensor
    slots: Tensor
    """(C, S) int64: place of each token if half a window is left free between nodes."""
    num_slots: int
    log_prior: Tensor | None = None
    """(C, S) logarithm of the factor of each token in the alignment of the other side; None for 1."""

    def spread(self, values: Tensor) -> Tensor:
        """Return the (C, S, D) values of the tokens at their slots, 0 in between."""
        index = self.slots.unsqueeze(-1).expand_as(values)
        return values.new_zeros(len(values), self.num_slots, values.shape[-1]).scatter(1, index, values)

    def collect(self, values: Tensor) -> Tensor:
        """Return the (C, S, D) values at the slots of the tokens."""
        return values.gather(1, self.slots.unsqueeze(-1).expand(-1, -1, values.shape[-1]))


def _without_match(values: Tensor, unrelated: Tensor) -> Tensor:
    """Return (C, S, K) evidence in which the matched weight of unrelated tokens, (C, S), is wrong weight."""
    *errors, matched, wrong = values.unbind(-1)
    return torch.stack([*errors, matched.where(~unrelated, 0.0), wrong + matched * unrelated], -1)


def _log_prior(weights: Tensor, node: Tensor, num_nodes: int) -> Tensor:
    """Return the (C, S) logarithm of the factor of the node of each token, see `TokenComparison`.

    Args:
        weights: (C, S, 2) matched and wrong weight of the tokens.
        node: (C, S) node of each token.
        num_nodes: Maximum number of nodes of a candidate.
    """
    sums = weights.new_zeros(len(node), num_nodes, 2)
    matched, wrong = sums.scatter_add_(1, node.unsqueeze(-1).expand_as(weights), weights).unbind(-1)
    right = (matched + _MIN_WEIGHT) / (_PARTLY_RIGHT * wrong + _MIN_WEIGHT)
    return 4 * right.clamp_max(1.0).log().gather(1, node)


def _window_evidence(logits: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the (C, S, K) evidence of the window around each token, 0 at padding, and its largest token."""
    minimum = torch.finfo(logits.dtype).min
    logits = logits.masked_fill(~mask.unsqueeze(-1), minimum).transpose(1, 2)
    largest, peaks = F.max_pool1d(logits, WINDOW, stride=1, padding=WINDOW // 2, return_indices=True)
    return F.softplus(largest.transpose(1, 2)) / WINDOW * mask.unsqueeze(-1), peaks.transpose(1, 2)
