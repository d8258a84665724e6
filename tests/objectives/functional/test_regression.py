"""Regression of the weights of findings, against a loop."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.objectives.functional.regression import findings_regression_loss

ROWS = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.booleans()), min_size=1, max_size=12)


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
