"""Objectives on finding weights against loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from radreward.objectives import FindingRegression, Objective, QualityOrder
from radreward.testing import make_reward_batch
from radreward.types import FindingWeightsBatch, RewardBatch

CANDIDATE = st.tuples(*[st.floats(0, 3)] * 2, *[st.floats(-0.5, 3)] * 2, st.integers(0, 2), st.booleans())
"""True and predicted weights, group, and whether the true ones are known."""
Row = tuple[float, float, float, float, int, bool]


def finding_batch(rows: list[Row]) -> RewardBatch:
    """Return a batch whose predicted weights require gradients."""
    target = torch.tensor([[a, b] if known else [math.nan] * 2 for a, b, *_, known in rows], dtype=torch.float64)
    predicted = torch.tensor([[c, d] for _, _, c, d, *_ in rows], dtype=torch.float64)
    group = torch.tensor([row[4] for row in rows], dtype=torch.int64)
    rewards = torch.zeros(len(rows), 1)
    weights = FindingWeightsBatch(predicted.reshape(-1, 2).requires_grad_(), target.reshape(-1, 2))
    return RewardBatch(rewards, rewards, group, torch.zeros(0, 2).long(), finding_weights=weights)


def gradient_of(objective: Objective, batch: RewardBatch) -> Tensor:
    assert batch.finding_weights is not None
    (gradient,) = torch.autograd.grad(objective(batch).loss, batch.finding_weights.predicted)
    return gradient


def regression_by_loop(rows: list[Row]) -> float:
    losses = []
    for a, b, c, d, _, known in rows:
        for e in (abs(c - a), abs(d - b)) if known else ():
            losses.append(0.5 * e**2 if e <= 1 else e - 0.5)
    return sum(losses) / max(1, len(losses))


def order_by_loop(rows: list[Row]) -> float:
    def quality(matched: float, wrong: float) -> float:
        matched, wrong = max(matched, 0.0) + 0.25, max(wrong, 0.0)
        return matched / (matched + wrong)

    losses = []
    for a, b, c, d, group, known in rows:
        for e, f, g, h, other_group, other_known in rows:
            margin = quality(a, b) - quality(e, f)
            if known and other_known and group == other_group and margin > 0:
                losses.append(max(0.0, margin - (quality(c, d) - quality(g, h))))
    return sum(losses) / max(1, len(losses))


@settings(max_examples=50)
@given(st.lists(CANDIDATE, max_size=9))
def test_finding_regression_equals_a_loop_over_known_weights(rows: list[Row]) -> None:
    batch = finding_batch(rows)
    assert FindingRegression()(batch).loss.item() == pytest.approx(regression_by_loop(rows), abs=1e-6)
    gradient = gradient_of(FindingRegression(), batch)
    assert gradient.isfinite().all()
    unknown = torch.tensor([not row[5] for row in rows], dtype=torch.bool)
    assert not gradient[unknown].any()


@settings(max_examples=50)
@given(st.lists(CANDIDATE, max_size=7))
def test_quality_order_equals_a_loop_over_pairs(rows: list[Row]) -> None:
    batch = finding_batch(rows)
    # Two qualities that differ by rounding are a pair or not: their mean changes.
    qualities = [(a + 0.25) / (a + b + 0.25) for a, b, *_ in rows]
    near = any(0 < abs(first - second) < 1e-12 for first in qualities for second in qualities)
    if not near:
        assert QualityOrder()(batch).loss.item() == pytest.approx(order_by_loop(rows), abs=1e-6)
    assert gradient_of(QualityOrder(), batch).isfinite().all()


@pytest.mark.parametrize("objective", [FindingRegression(), QualityOrder()], ids=lambda o: type(o).__name__)
def test_batch_without_known_weights_has_a_loss_of_0_with_a_gradient(objective: Objective) -> None:
    for batch in (finding_batch([]), finding_batch([(0.0, 0.0, 1.0, 1.0, 0, False)] * 2)):
        assert objective(batch).loss == 0
        assert not gradient_of(objective, batch).any()


def test_finding_objectives_do_not_depend_on_rewards() -> None:
    batch = make_reward_batch(num_groups=1, num_candidates=2, num_criteria=1)
    weights = FindingWeightsBatch(torch.ones(2, 2).requires_grad_(), torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    for objective in (FindingRegression(), QualityOrder()):
        loss = objective(batch._replace(finding_weights=weights)).loss
        [gradient] = torch.autograd.grad(loss, batch.rewards)
        assert not gradient.any(), "a zero gradient, so that distributed training has one for every parameter"
