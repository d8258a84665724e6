"""Conformance suites for objectives on rewards and for criterion weightings."""

from __future__ import annotations

import copy
from abc import abstractmethod

import torch
from torch import Tensor

from radreward.criteria.pairs import make_pairs
from radreward.errors import InputError
from radreward.objectives import CriterionWeighting, Objective
from radreward.testing.checks import require, require_close, require_equal_states, require_finite_loss
from radreward.testing.suite import ConformanceSuite
from radreward.types import FindingWeightsBatch, LocatedErrorBatch, LocatedErrorTargets, OptionalPart, RewardBatch

_STATEMENT_TOKENS = torch.tensor([0, 0, 1, 2, -1])
"""Statement of each of five tokens of a report; the last token is padding."""


def make_reward_batch(
    num_groups: int = 3,
    num_candidates: int = 4,
    num_criteria: int = 6,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> RewardBatch:
    """Return a batch with random outputs and random error counts from 0 to 2; the rewards require gradients.

    Two candidates of a group with different totals form a pair; the one with the higher total is accepted. For
    objectives that need them, the batch also has finding weights, and evidence and located errors of three statements
    per report.

    Args:
        num_groups: Number of references.
        num_candidates: Number of candidates per reference.
        num_criteria: Number of criteria N.
        seed: Seed of rewards and errors.
        dtype: Type of all outputs and targets.

    >>> batch = make_reward_batch(num_groups=2, num_candidates=3, num_criteria=4)
    >>> batch.rewards.shape, batch.group
    (torch.Size([6, 4]), tensor([0, 0, 0, 1, 1, 1]))
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (num_groups * num_candidates, num_criteria)
    targets = -torch.randint(0, 3, shape, generator=generator).to(dtype)
    group = torch.arange(num_groups).repeat_interleave(num_candidates)
    rewards = torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    pairs = make_pairs(targets.sum(1), group)

    def positive(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64).to(dtype)

    size, tokens = len(group), _STATEMENT_TOKENS
    statements = torch.where(tokens < 0, -1, tokens + 3 * torch.arange(2 * size).unsqueeze(1))  # (2C, 5)
    amounts = torch.randint(0, 2, (6 * size, num_criteria + 2), generator=generator).to(dtype)
    located_errors = LocatedErrorBatch(
        positive(size, len(tokens), num_criteria),
        positive(size, len(tokens), num_criteria),
        LocatedErrorTargets(statements[:size], statements[size:], amounts),
    )
    weights = torch.ones(num_criteria, dtype=dtype)
    finding_weights = FindingWeightsBatch(positive(size, 2), positive(size, 2))
    return RewardBatch(rewards, targets, group, pairs, weights, finding_weights, located_errors)


class ObjectiveConformance(ConformanceSuite):
    """Tests for an `Objective`; subclass it and define `objective`."""

    num_criteria: int = 6
    """Number of criteria of the batches."""
    steps: int = 200
    """Number of gradient steps to learn a toy problem."""

    @staticmethod
    @abstractmethod
    def objective() -> Objective:
        """Return a new objective; called by every test."""

    def test_loss_is_a_finite_scalar(self) -> None:
        """The loss is a finite scalar; logs are finite detached scalars, and no key is reserved."""
        try:
            output = self.objective()(self._batch())
        except InputError as error:  # the checks of every call
            raise AssertionError(str(error)) from error
        require_finite_loss(output)

    def test_needs_names_the_used_parts(self) -> None:
        """Optional parts of a batch that `needs` does not name are not used: in training, they are missing."""
        batch, needs = self._batch(), self.objective().needs
        require(needs <= set(OptionalPart), f"`needs` may name {', '.join(OptionalPart)} but names {sorted(needs)}")
        weights = batch.finding_weights if OptionalPart.FINDING_WEIGHTS in needs else None
        located = batch.located_errors if OptionalPart.LOCATED_ERRORS in needs else None
        try:
            loss = self.objective()(batch._replace(finding_weights=weights, located_errors=located)).loss
        except Exception as error:
            missing = " and ".join(part.value for part in OptionalPart if part not in needs)
            raise AssertionError(f"without {missing}, which `needs` does not name, the loss fails: {error}") from error
        require_close(loss, self.objective()(batch).loss, "the loss uses a part that `needs` does not name")

    def test_large_outputs_stay_finite(self) -> None:
        """Outputs of ±1000 give finite losses and gradients."""
        batch = self._batch()
        loss, gradient = self._loss_and_gradient(batch, 1000 * _outputs(batch).sign())
        require(bool(loss.isfinite()) and bool(gradient.isfinite().all()), "large outputs must stay finite")

    def test_gradients_finite_and_nonzero(self) -> None:
        """The gradient of the loss with respect to the outputs is finite and not zero."""
        _, gradient = self._loss_and_gradient(self._batch())
        require(bool(gradient.isfinite().all()), "gradients must be finite")
        require(bool((gradient != 0).any()), "the gradient of the outputs must not be zero")

    def test_candidate_order_irrelevant(self) -> None:
        """Permuted candidates give the same loss and permuted gradients."""
        batch = self._batch()
        order = torch.randperm(len(batch.group), generator=torch.Generator().manual_seed(1))
        permuted = _select(batch, order)._replace(pairs=order.argsort()[batch.pairs])
        loss, gradient = self._loss_and_gradient(batch)
        permuted_loss, permuted_gradient = self._loss_and_gradient(permuted)
        require_close(permuted_loss, loss, "the loss depends on the order of the candidates")
        require_close(permuted_gradient, gradient[order], "gradients depend on the order of the candidates")

    def test_pair_order_irrelevant(self) -> None:
        """Permuted pairs give the same loss and gradients."""
        batch = self._batch()
        loss, gradient = self._loss_and_gradient(batch)
        permuted_loss, permuted_gradient = self._loss_and_gradient(batch._replace(pairs=batch.pairs.flip(0)))
        require_close(permuted_loss, loss, "the loss depends on the order of the pairs")
        require_close(permuted_gradient, gradient, "gradients depend on the order of the pairs")

    def test_group_indices_irrelevant(self) -> None:
        """Renumbered groups give the same loss."""
        batch = self._batch()
        loss, _ = self._loss_and_gradient(batch)
        renumbered_loss, _ = self._loss_and_gradient(batch._replace(group=100 - 7 * batch.group))
        require_close(renumbered_loss, loss, "the loss depends on the group indices")

    def test_dtypes(self) -> None:
        """In float64, float32 and bfloat16, the loss has the dtype of the outputs and nearly the same value."""
        exact, _ = self._loss_and_gradient(self._batch())
        for dtype, tolerance in ((torch.float64, 1e-6), (torch.float32, 1e-4), (torch.bfloat16, 0.1)):
            batch = self._batch()
            # In training, targets are float32 for outputs of any dtype.
            float_targets = batch._replace(targets=batch.targets.float())
            loss, gradient = self._loss_and_gradient(float_targets, _outputs(batch).to(dtype))
            require(loss.dtype == dtype, f"outputs in {dtype} must give a loss in {dtype}, not {loss.dtype}")
            require(bool(gradient.isfinite().all()), f"gradients in {dtype} must be finite")
            deviation = float((loss.double() - exact).abs()) / max(1.0, abs(float(exact)))
            require(deviation <= tolerance, f"the loss in {dtype} has a relative deviation of {deviation:.2g}")

    def test_no_pairs_give_finite_loss(self) -> None:
        """A batch without pairs has finite loss and gradients."""
        loss, gradient = self._loss_and_gradient(_select(self._batch(), torch.tensor([0])))
        require(bool(loss.isfinite()) and bool(gradient.isfinite().all()), "no pairs must give a finite loss")

    def test_empty_batch_gives_zero_loss(self) -> None:
        """An empty batch has a loss of 0 with an empty gradient."""
        empty = _select(self._batch(), torch.zeros(0, dtype=torch.int64))
        output = self.objective()(empty)
        require(float(output.loss.detach()) == 0, "an empty batch must give a loss of 0")
        require(output.loss.requires_grad, "the loss of an empty batch must depend on the rewards")
        (gradient,) = torch.autograd.grad(output.loss, empty.rewards)
        require(gradient.shape == empty.rewards.shape, "the loss of an empty batch must have an empty gradient")
        require(all(bool(value.isfinite()) for value in output.logs.values()), "logs must be finite for an empty batch")

    def test_inputs_not_modified(self) -> None:
        """Forward and backward leave the tensors of the batch unchanged."""
        batch = self._batch()
        before = copy.deepcopy(batch._replace(rewards=batch.rewards.detach()))
        self._loss_and_gradient(batch)
        for name in ("rewards", "targets", "group", "pairs", "weights"):
            require(torch.equal(getattr(before, name), getattr(batch, name).detach()), f"{name} was modified in place")
        require(torch.equal(_outputs(before), _outputs(batch).detach()), "an output was modified in place")

    def test_state_dict_round_trip(self) -> None:
        """An objective gives the same loss after loading the state of a trained one."""
        trained = self.objective().train()
        for seed in range(3):
            trained(self._batch(seed))
        loaded = self.objective()
        loaded.load_state_dict(copy.deepcopy(trained.state_dict()))
        batch = self._batch()
        loss, loaded_loss = (objective.eval()(batch).loss for objective in (trained, loaded))
        require_close(loaded_loss, loss, "the loss differs after loading the state")

    def test_evaluation_keeps_state(self) -> None:
        """In evaluation mode, a batch gives the same loss twice and the state does not change."""
        objective, batch = self.objective().eval(), self._batch()
        before = copy.deepcopy(objective.state_dict())
        first, second = objective(batch).loss, objective(batch).loss
        require(torch.equal(first, second), "the same batch gives a different loss the second time")
        require_equal_states(before, objective.state_dict(), "the state changed in evaluation mode")

    def test_gradient_step_lowers_loss(self) -> None:
        """A small step against the gradient lowers the loss."""
        batch = self._batch()
        loss, gradient = self._loss_and_gradient(batch)
        step = 1e-4 * gradient / gradient.norm().clamp_min(1e-12)
        next_loss, _ = self._loss_and_gradient(batch, _outputs(batch) - step)
        require(float(next_loss) < float(loss), "a small step against the gradient does not lower the loss")

    def test_training_improves_order(self) -> None:
        """Gradient descent from reversed rewards increases the fraction of correctly ordered pairs.

        An objective whose loss does not depend on the rewards must lower its loss instead.
        """
        batch = self._batch()
        outputs = _outputs(batch._replace(rewards=-0.2 * batch.targets))
        before, gradient = self._loss_and_gradient(batch, outputs)
        objective = self.objective()
        values = outputs.clone().requires_grad_()
        optimizer = torch.optim.Adam([values], lr=0.05)
        for _ in range(self.steps):
            optimizer.zero_grad()
            (values.grad,) = torch.autograd.grad(objective(_with_outputs(batch, values)).loss, values)
            optimizer.step()
        after, _ = self._loss_and_gradient(batch, values)
        if not gradient[:, : self.num_criteria].any():
            require(float(after) < float(before), f"training does not lower the loss: {before} before, {after} after")
            return
        ordered, reordered = (_pair_accuracy(_with_outputs(batch, part)) for part in (outputs, values))
        require(
            reordered > ordered, f"training does not improve the order: {ordered:.2f} before, {reordered:.2f} after"
        )

    def _batch(self, seed: int = 0) -> RewardBatch:
        return make_reward_batch(num_criteria=self.num_criteria, seed=seed, dtype=torch.float64)

    def _loss_and_gradient(self, batch: RewardBatch, outputs: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the loss and its gradient with respect to the (C, M) outputs, by default `_outputs` of the batch."""
        outputs = (_outputs(batch) if outputs is None else outputs).detach().requires_grad_()
        loss = self.objective()(_with_outputs(batch, outputs)).loss
        require(loss.requires_grad, "the loss must depend on the outputs")
        (gradient,) = torch.autograd.grad(loss, outputs)
        return loss.detach(), gradient


class WeightingConformance(ConformanceSuite):
    """Tests for a `CriterionWeighting`; subclass it and define `weighting`."""

    num_criteria: int = 6
    """Number of criteria to test with."""

    @staticmethod
    @abstractmethod
    def weighting() -> CriterionWeighting:
        """Return a new weighting; called by every test."""

    def test_weights_finite_and_nonnegative(self) -> None:
        """Weights have the shape (N,) and are finite, >= 0 and not all 0, before and after updates."""
        weighting = self.weighting()
        for seed in range(4):
            weights = weighting.weights(self.num_criteria)
            require(weights.shape == (self.num_criteria,), f"weights must be (N,) but have {tuple(weights.shape)}")
            require(bool((weights.isfinite() & (weights >= 0)).all()), "weights must be finite and >= 0")
            require(bool((weights > 0).any()), "at least one weight must be above 0")
            weighting.update(*self._outcomes(seed))

    def test_weights_detached(self) -> None:
        """Weights carry no gradient."""
        require(not self.weighting().weights(self.num_criteria).requires_grad, "weights must be detached")

    def test_mean_of_constant(self) -> None:
        """The weighted mean of equal values is this value in every dtype, so weights do not scale the loss."""
        weighting = self.weighting()
        for seed in range(4):
            for dtype in (torch.float64, torch.float32, torch.bfloat16):
                mean = weighting(torch.full((5, self.num_criteria), 3.0, dtype=dtype))
                require(mean.shape == (5,) and mean.dtype == dtype, "the mean must be (n,) in the dtype of the values")
                require(bool(((mean - 3).abs() < 0.05).all()), "the mean of equal values must be that value")
            weighting.update(*self._outcomes(seed))

    def test_mean_matches_weights(self) -> None:
        """Calling the weighting returns Σ w x / Σ w."""
        weighting = self.weighting()
        values = torch.randn(5, self.num_criteria, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        weights = weighting.weights(self.num_criteria).double()
        expected = sum(weights[j] * values[:, j] for j in range(self.num_criteria)) / weights.sum()
        require_close(weighting(values), torch.as_tensor(expected), "the mean is not the weighted mean")

    def test_update_without_outcomes(self) -> None:
        """Weights are finite after an update without outcomes, as a batch without pairs causes it."""
        weighting = self.weighting()
        empty = torch.zeros(0, self.num_criteria, dtype=torch.bool)
        for _ in range(3):
            weighting.update(empty, empty)
        require(bool(weighting.weights(self.num_criteria).isfinite().all()), "weights must stay finite")

    def test_state_dict_round_trip(self) -> None:
        """A weighting that loads the state of another one has the same weights from then on."""
        trained = self.weighting()
        for seed in range(3):
            trained.update(*self._outcomes(seed))
        loaded = self.weighting()
        loaded.load_state_dict(copy.deepcopy(trained.state_dict()))
        for seed in range(3, 6):
            weights, loaded_weights = trained.weights(self.num_criteria), loaded.weights(self.num_criteria)
            require(torch.equal(weights, loaded_weights), "the weights differ after loading the state")
            for weighting in (trained, loaded):
                weighting.update(*self._outcomes(seed))

    def _outcomes(self, seed: int) -> tuple[Tensor, Tensor]:
        predicted, actual = torch.rand(2, 20, self.num_criteria, generator=torch.Generator().manual_seed(seed)) < 0.5
        return predicted, actual


def _pair_accuracy(batch: RewardBatch) -> float:
    total = batch.rewards.detach().sum(1)
    return float((total[batch.pairs[:, 0]] > total[batch.pairs[:, 1]]).double().mean())


def _optional_parts(batch: RewardBatch) -> tuple[FindingWeightsBatch, LocatedErrorBatch]:
    if batch.finding_weights is None or batch.located_errors is None:
        raise ValueError("Expected a batch with finding weights and located errors but got one without.")
    return batch.finding_weights, batch.located_errors


def _outputs(batch: RewardBatch) -> Tensor:
    """Return all outputs of a model in one (C, M) tensor: rewards, finding weights, evidence of both reports."""
    finding_weights, located = _optional_parts(batch)
    evidence = (located.candidate.flatten(1), located.reference.flatten(1))
    return torch.cat([batch.rewards, finding_weights.predicted, *evidence], 1)


def _with_outputs(batch: RewardBatch, outputs: Tensor) -> RewardBatch:
    """Replace the outputs of a batch. Negative evidence becomes 0."""
    finding_weights, located = _optional_parts(batch)
    sizes = [batch.rewards.shape[1], 2, located.candidate[0:1].numel(), located.reference[0:1].numel()]
    if not len(outputs):
        sizes[2:] = [(outputs.shape[1] - sum(sizes[:2])) // 2] * 2
    rewards, weights, candidate, reference = torch.split(outputs, sizes, 1)
    return batch._replace(
        rewards=rewards,
        finding_weights=finding_weights._replace(predicted=weights),
        located_errors=located._replace(
            candidate=candidate.clamp_min(0).reshape(located.candidate.shape),
            reference=reference.clamp_min(0).reshape(located.reference.shape),
        ),
    )


def _select(batch: RewardBatch, rows: Tensor) -> RewardBatch:
    """Select candidates of a batch. The result has no pairs."""
    finding_weights, located = _optional_parts(batch)
    candidate, reference = located.targets.candidate[rows], located.targets.reference[rows]
    used = torch.unique(torch.cat([candidate.flatten(), reference.flatten()]))
    used = used[used >= 0]

    def renumbered(statements: Tensor) -> Tensor:
        return torch.where(statements < 0, -1, torch.searchsorted(used, statements))

    targets = LocatedErrorTargets(renumbered(candidate), renumbered(reference), located.targets.amounts[used])
    return RewardBatch(
        batch.rewards.detach()[rows].requires_grad_(),
        batch.targets[rows],
        batch.group[rows],
        batch.pairs[:0],
        batch.weights,
        FindingWeightsBatch(finding_weights.predicted[rows], finding_weights.target[rows]),
        LocatedErrorBatch(located.candidate[rows], located.reference[rows], targets),
    )
