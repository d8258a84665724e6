"""Accuracies of error counts: known values, and 0 for unparsable counts."""

import math

import pytest
import torch

from radreward.objectives.functional.accuracy_rewards import binary_accuracy, gaussian_accuracy


@pytest.mark.parametrize(("difference", "expected"), [(0.0, 1.0), (0.5, 0.60653), (1.0, 0.13534)])
@pytest.mark.parametrize("sign", [1, -1])
def test_gaussian_accuracy_known_values(difference: float, expected: float, sign: int) -> None:
    result = gaussian_accuracy(torch.tensor(2.0 + sign * difference), torch.tensor(2.0), 0.5)
    assert result.item() == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e30])
def test_accuracy_zero_for_unparsable_values(value: float) -> None:
    for reward in (
        gaussian_accuracy(torch.tensor(value), torch.tensor(0.0), 1.0),
        binary_accuracy(torch.tensor(value), torch.tensor(0.0)),
    ):
        assert reward.item() == 0
