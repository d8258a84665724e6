"""Policy losses equal loops and known values."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.objectives.functional.policy import clipped_surrogate, k3_kl


@given(st.floats(0.1, 3), st.floats(-2, 2), st.sampled_from([0.1, 0.2, 0.5]))
def test_clipped_surrogate_matches_case_distinction(ratio: float, advantage: float, clip: float) -> None:
    best = ratio
    if advantage > 0 and ratio > 1 + clip:
        best = 1 + clip
    if advantage < 0 and ratio < 1 - clip:
        best = 1 - clip
    result = clipped_surrogate(torch.tensor(ratio).double(), torch.tensor(advantage).double(), clip)
    assert result.item() == pytest.approx(-best * advantage)


def test_clipped_surrogate_has_no_gradient_beyond_clip() -> None:
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5], requires_grad=True)
    losses = clipped_surrogate(ratio, torch.tensor([1.0, -1.0, 1.0, -1.0]), 0.2)
    (gradient,) = torch.autograd.grad(losses.sum(), ratio)
    assert gradient.tolist() == [0.0, 1.0, -1.0, 0.0]


def test_k3_kl_expectation_equals_divergence() -> None:
    policy, reference = (torch.randn(2, 6, generator=torch.Generator().manual_seed(0)).double()).log_softmax(-1)
    exact = (policy.exp() * (policy - reference)).sum()
    estimates = k3_kl(policy, reference)
    assert (estimates >= 0).all()
    torch.testing.assert_close((policy.exp() * estimates).sum(), exact)
