"""Regressions against loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.objectives.functional.regression import (
    findings_regression_loss,
    passage_regression_loss,
    quality_order_loss,
)
from radreward.types import PassageTargets

ROWS = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.booleans()), min_size=1, max_size=12)
CANDIDATES = st.tuples(*[st.floats(0, 3)] * 2, *[st.floats(-0.5, 3)] * 2, st.integers(0, 2), st.booleans())
"""True and predicted weights, group, and whether the true ones are known."""


@settings(max_examples=50)
@given(st.lists(CANDIDATES, max_size=7))
def test_quality_order_loss_equals_loop_over_pairs(rows: list[tuple[float, float, float, float, int, bool]]) -> None:
    target = torch.tensor([[a, b] if known else [torch.nan] * 2 for a, b, *_, known in rows]).reshape(-1, 2)
    predicted = torch.tensor([[c, d] for _, _, c, d, *_ in rows]).reshape(-1, 2).requires_grad_()
    groups = [row[4] for row in rows]
    loss = quality_order_loss(predicted, target, torch.tensor(groups, dtype=torch.long))

    def quality(matched: float, wrong: float) -> float:
        matched, wrong = max(matched, 0.0) + 0.25, max(wrong, 0.0)
        return matched / (matched + wrong)

    losses = []
    for a, b, c, d, group, known in rows:
        for e, f, g, h, other_group, other_known in rows:
            margin = quality(a, b) - quality(e, f)
            if known and other_known and group == other_group and margin > 1e-7:
                losses.append(max(0.0, margin - (quality(c, d) - quality(g, h))))
    assert loss.item() == pytest.approx(sum(losses) / max(1, len(losses)), abs=1e-5)
    loss.backward()  # type: ignore[no-untyped-call]
    assert predicted.grad is not None
    assert predicted.grad.isfinite().all()


@given(ROWS)
def test_findings_regression_loss_equals_loop_over_known_rows(rows: list[tuple[float, float, bool]]) -> None:
    predicted = torch.tensor([[x, -x] for x, _, _ in rows], dtype=torch.float64, requires_grad=True)
    target = torch.tensor([[y, 2 * y] if known else [math.nan] * 2 for _, y, known in rows], dtype=torch.float64)
    losses = []
    for x, y, known in rows:
        for e in (abs(x - y), abs(-x - 2 * y)) if known else ():
            losses.append(0.5 * e**2 if e <= 1 else e - 0.5)
    loss = findings_regression_loss(predicted, target)
    torch.testing.assert_close(loss.item(), sum(losses) / len(losses) if losses else 0.0)
    [gradient] = torch.autograd.grad(loss, predicted)
    assert gradient.isfinite().all()
    assert not gradient[target.isnan().any(1)].any()


@given(st.integers(0, 9999), st.sampled_from([2, 4]))
def test_passage_regression_loss_equals_loop_over_tokens_and_passages(seed: int, num_kinds: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    candidate, reference = (
        torch.rand(3, size, num_kinds, generator=generator, dtype=torch.float64, requires_grad=True) for size in (5, 4)
    )
    passages = [torch.randint(0, 6, (3, size), generator=generator) for size in (5, 4)]
    for side in passages:
        side[1] = -1  # the passages of one candidate are unknown
        side[0, -1] = -1  # padding
    amounts = torch.randint(0, 3, (6, 4), generator=generator).double()
    amounts[:, 2] = torch.nan
    evidence: dict[tuple[int, int], float] = {}
    for values, side in zip((candidate, reference), passages, strict=True):
        for row in range(3):
            for token, passage in enumerate(side[row].tolist()):
                for kind in range(num_kinds):
                    evidence[passage, kind] = evidence.get((passage, kind), 0.0) + values[row, token, kind].item()
    total = 0.0
    for passage in range(6):
        for kind in range(num_kinds):
            if not math.isnan(amount := amounts[passage, kind].item()):
                value = evidence.get((passage, kind), 0.0)
                total += value - amount * math.log(value + 1e-4)
    loss = passage_regression_loss(candidate, reference, PassageTargets(passages[0], passages[1], amounts))
    torch.testing.assert_close(loss.item(), total / (2 * num_kinds))
    gradients = torch.autograd.grad(loss, (candidate, reference))
    assert all(not gradient[1].any() for gradient in gradients)


def test_passage_regression_loss_without_known_passages_is_0_and_has_a_gradient() -> None:
    evidence = torch.ones(2, 3, 4, requires_grad=True)
    unknown = PassageTargets(torch.full((2, 3), -1), torch.full((2, 3), -1), torch.zeros(0, 4))
    loss = passage_regression_loss(evidence, evidence, unknown)
    assert loss == 0
    assert torch.autograd.grad(loss, evidence)[0].abs().sum() == 0
