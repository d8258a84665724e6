"""Poisson regression of counts against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from radreward.objectives.functional.regression_losses import poisson_nll

DOUBLE = torch.float64


@given(st.floats(-25, 60), st.integers(0, 8))
def test_poisson_nll_matches_scipy(predicted: float, errors: int) -> None:
    rate = float(np.logaddexp(0, predicted))
    loss = poisson_nll(torch.tensor(predicted, dtype=DOUBLE), torch.tensor(errors, dtype=DOUBLE))
    expected = -float(stats.poisson.logpmf(errors, rate)) - math.lgamma(errors + 1)
    assert loss.item() == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_poisson_nll_does_not_underflow(dtype: torch.dtype) -> None:
    predicted = torch.tensor([-1000.0, -40.0, -29.0, 1000.0], dtype=dtype, requires_grad=True)
    loss = poisson_nll(predicted, torch.ones(4, dtype=dtype))
    (gradient,) = torch.autograd.grad(loss.sum(), predicted)
    assert bool(loss.isfinite().all())
    assert bool(gradient.isfinite().all())
    assert loss[0].item() == 1000
