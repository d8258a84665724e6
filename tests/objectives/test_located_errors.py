"""The objective on located errors against a loop."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from radreward.objectives import LocatedErrors
from radreward.types import LocatedErrorBatch, LocatedErrorTargets, RewardBatch


def located_batch(located_errors: LocatedErrorBatch) -> RewardBatch:
    rewards = torch.zeros(len(located_errors.candidate), 2)
    group = torch.zeros(len(rewards), dtype=torch.int64)
    return RewardBatch(rewards, rewards, group, torch.zeros(0, 2).long(), located_errors=located_errors)


def random_located_errors(seed: int, num_kinds: int) -> LocatedErrorBatch:
    """Return evidence of 3 candidates and of their references, with 6 statements in total."""
    generator = torch.Generator().manual_seed(seed)
    candidate, reference = (
        torch.rand(3, size, num_kinds, generator=generator, dtype=torch.float64, requires_grad=True) for size in (5, 4)
    )
    candidate_statements, reference_statements = (
        torch.randint(0, 6, (3, size), generator=generator) for size in (5, 4)
    )
    for statements in (candidate_statements, reference_statements):
        statements[1] = -1  # the errors of one candidate are not located
        statements[0, -1] = -1  # padding
    amounts = torch.randint(0, 3, (6, 4), generator=generator).double()
    amounts[:, 2] = torch.nan
    targets = LocatedErrorTargets(candidate_statements, reference_statements, amounts)
    return LocatedErrorBatch(candidate, reference, targets)


def loss_by_loop(located: LocatedErrorBatch) -> float:
    num_kinds = located.candidate.shape[-1]
    evidence: dict[tuple[int, int], float] = {}
    sides = ((located.candidate, located.targets.candidate), (located.reference, located.targets.reference))
    for values, statements in sides:
        for row in range(3):
            for token, statement in enumerate(statements[row].tolist()):
                for kind in range(num_kinds):
                    value = values[row, token, kind].item()
                    evidence[statement, kind] = evidence.get((statement, kind), 0.0) + value
    total = 0.0
    for statement in range(6):
        for kind in range(num_kinds):
            if not math.isnan(amount := located.targets.amounts[statement, kind].item()):
                value = evidence.get((statement, kind), 0.0)
                total += value - amount * math.log(value + 1e-4)
    return total / (2 * num_kinds)


def gradients_of(located: LocatedErrorBatch) -> tuple[Tensor, ...]:
    return torch.autograd.grad(LocatedErrors()(located_batch(located)).loss, (located.candidate, located.reference))


@given(st.integers(0, 9999), st.sampled_from([2, 4]))
def test_located_errors_equal_a_loop_over_tokens_and_statements(seed: int, num_kinds: int) -> None:
    located = random_located_errors(seed, num_kinds)
    assert LocatedErrors()(located_batch(located)).loss.item() == pytest.approx(loss_by_loop(located))
    assert all(not gradient[1].any() for gradient in gradients_of(located))


@pytest.mark.parametrize("num_candidates", [0, 2])
def test_batch_without_located_errors_has_a_loss_of_0_with_a_gradient(num_candidates: int) -> None:
    evidence = torch.ones(num_candidates, 3, 4, requires_grad=True)
    statements = torch.full((num_candidates, 3), -1)
    targets = LocatedErrorTargets(statements, statements, torch.zeros(0, 4))
    located = LocatedErrorBatch(evidence, evidence, targets)
    assert LocatedErrors()(located_batch(located)).loss == 0
    assert not any(gradient.any() for gradient in gradients_of(located))
