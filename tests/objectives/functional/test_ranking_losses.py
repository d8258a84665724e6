"""Tests of ranking losses against loops, SciPy and enumeration."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from radreward.objectives.functional import ranking_losses

DOUBLE = torch.float64


def pairs(seed: int, pairs: int = 7, criteria: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    difference = 3 * torch.randn(pairs, criteria, generator=generator, dtype=DOUBLE)
    return difference, torch.randint(-2, 3, (pairs, criteria), generator=generator).to(DOUBLE)


def test_mre_losses_known_values() -> None:
    difference = torch.tensor([[0.0, 0.0, 0.0], [3.0, -2.0, 0.005], [1.0, 1.0, -0.51]], dtype=DOUBLE)
    margin = torch.tensor([[2.0, -1.0, 0.0], [2.0, -1.0, 0.0], [2.0, -1.0, 0.0]], dtype=DOUBLE)
    expected = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 0.5]], dtype=DOUBLE)
    torch.testing.assert_close(ranking_losses.mre_criterion_loss(difference, margin, 0.01), expected)
    torch.testing.assert_close(
        ranking_losses.mre_total_loss(difference, margin), torch.tensor([1.0, 0.0, 0.0], dtype=DOUBLE)
    )


@given(st.floats(-30, 30), st.sampled_from([-1, 0, 1]), st.floats(-5, 5))
def test_bradley_terry_matches_log_likelihood(difference: float, preference: int, margin: float) -> None:
    lead = difference - margin
    if preference:
        expected = math.log1p(math.exp(-preference * lead))
    else:
        expected = (math.log1p(math.exp(-lead)) + math.log1p(math.exp(lead))) / 2
    loss = ranking_losses.bradley_terry(
        torch.tensor(difference, dtype=DOUBLE), torch.tensor(preference, dtype=DOUBLE), margin
    )
    assert loss.item() == pytest.approx(expected, abs=1e-9)


def ranking_by_loop(scores: list[float], quality: list[float]) -> float:
    loss = 0.0
    for s, q in zip(scores, quality, strict=True):
        remaining = [score for score, level in zip(scores, quality, strict=True) if level <= q]
        loss += math.log(sum(math.exp(score) for score in remaining)) - s
    return loss


@given(st.integers(0, 2**31), st.integers(1, 6))
def test_plackett_luce_matches_loop(seed: int, size: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(2 * size, 2, generator=generator, dtype=DOUBLE)
    quality = torch.randint(0, 3, scores.shape, generator=generator).to(DOUBLE)
    group = torch.tensor([7, 3] * size)
    losses = ranking_losses.plackett_luce(scores, quality, group)
    for row, number in enumerate([3, 7]):
        for column in range(2):
            expected = ranking_by_loop(
                scores[group == number, column].tolist(), quality[group == number, column].tolist()
            )
            assert losses[row, column].item() == pytest.approx(expected, abs=1e-10)


def test_plackett_luce_probabilities_sum_to_one() -> None:
    scores = torch.tensor([[0.3], [-1.2], [2.0], [0.0]], dtype=DOUBLE)
    group = torch.zeros(4, dtype=torch.int64)
    likelihoods = [
        (-ranking_losses.plackett_luce(scores, torch.tensor(ranks, dtype=DOUBLE)[:, None], group)).exp().item()
        for ranks in itertools.permutations(range(4))
    ]
    assert sum(likelihoods) == pytest.approx(1)


def test_plackett_luce_gradient_pulls_ties_together() -> None:
    scores = torch.tensor([[1.0], [0.0]], dtype=DOUBLE, requires_grad=True)
    loss = ranking_losses.plackett_luce(scores, torch.zeros(2, 1, dtype=DOUBLE), torch.zeros(2, dtype=torch.int64))
    (gradient,) = torch.autograd.grad(loss.sum(), scores)
    assert gradient[0] > 0 > gradient[1]


@given(st.integers(0, 2**31))
def test_pairwise_order_labels_f1_equals_fraction_of_correct_order(seed: int) -> None:
    difference, margin = pairs(seed, pairs=11, criteria=1)
    predicted, actual = ranking_losses.pairwise_order_labels(difference, margin)
    true_positives, false_positives, false_negatives = (
        (a & b).sum().item() for a, b in ((predicted, actual), (predicted, ~actual), (~predicted, actual))
    )
    num_correct = sum(d * m > 0 for d, m in zip(difference.flatten().tolist(), margin.flatten().tolist(), strict=True))
    num_untied = int((margin != 0).sum())
    assert (true_positives, false_positives, false_negatives) == (
        num_correct,
        num_untied - num_correct,
        num_untied - num_correct,
    )
