"""Optimizers of W and p: gradients through a smooth rank correlation, TPE as in the paper, or none."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import optuna
import torch
from scipy import optimize
from threadpoolctl import threadpool_limits
from torch import Tensor

from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.fitting.rated_matches import RatedMatches, sample_ordered_pairs, tau_b_or_worst
from radreward.systems.ratescore.functional import PenaltyRule, ratescore
from radreward.systems.ratescore.matching import NUM_TYPES, TypePairSums

_ParameterVector = np.ndarray[tuple[int], np.dtype[np.float64]]
"""(26,) W row by row, then p."""
_NUM_PARAMETERS = NUM_TYPES * NUM_TYPES + 1


class _FitStep(NamedTuple):
    """State of a fit after some evaluations."""

    evaluations: int
    seconds: float
    train: float
    """Kendall's τ-b of the training pairs."""
    validation: float | None
    """Kendall's τ-b of the validation pairs, for early stopping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResult:
    """Result of a fit."""

    affinity: AffinityMatrix
    """The best W and p. W is scaled to a maximum of 1, which changes no score."""
    steps: tuple[_FitStep, ...]
    """Improvements, the best last."""
    evaluations: int
    """Number of evaluations of the objective."""
    seconds: float
    search_seconds: float
    """Duration without the evaluations."""


class AffinityOptimizer(ABC):
    """A method to fit W and p. Subclasses define `fit`.

    Attributes:
        fits: False if W and p are given, so that no pair is held out from them.
    """

    fits: ClassVar[bool] = True

    @abstractmethod
    def fit(self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None = None) -> FitResult:
        """Return the best W and p.

        Args:
            initial: Initial values. The penalty rule and the clamping are not fitted.
            train: Training pairs.
            validation: Pairs for early stopping, and to select the best W and p of the search.

        Raises:
            InputError: If the training pairs are unusable, see `RatedMatches.drop_undefined`.
        """


class NoOptimizer(AffinityOptimizer):
    """Keeps the initial W and p, for a study that searches them with `radreward tune`."""

    fits = False

    def fit(self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None = None) -> FitResult:
        """Return the initial W and p, see `AffinityOptimizer.fit`."""
        monitor = _FitMonitor(initial, train.drop_undefined(), validation, patience=1)
        monitor.record(to_vector(initial))
        return monitor.result()


class GradientOptimizer(AffinityOptimizer):
    r"""L-BFGS-B on a smooth Kendall's τ, regularized toward the initial values.

    Maximizes the mean of sign(q_i - q_j)·tanh((s_i - s_j) / T) over pairs with different targets q, minus
    `regularization` times the squared distance from the initial values. As T decreases, the mean approaches Kendall's
    τ. tanh saturates in both directions, as τ does. A logistic or hinge loss would be dominated by the pairs with the
    largest errors. T is measured in standard deviations of the initial scores because scores are in [0, 1] and their
    scale cannot be learned. The optimizer enforces the bounds 0 <= W, p <= 1. A sigmoid is not used, because values
    near 0 would have no gradient.

    Args:
        temperature: T in standard deviations of the initial scores.
        regularization: Cost of a squared distance of 1 in W and p, in units of τ.
        max_steps: Maximum number of iterations.
        patience: Maximum number of iterations without an improvement on the validation pairs.
        max_pairs: Maximum number of compared pairs, sampled once.
        seed: Seed of the sampling.

    Raises:
        ValueError: If a value is out of range.
    """

    def __init__(
        self,
        temperature: float = 0.25,
        regularization: float = 0.003,
        max_steps: int = 100,
        patience: int = 20,
        max_pairs: int = 50_000,
        seed: int = 0,
    ) -> None:
        if not temperature > 0:
            raise ValueError(f"Expected `temperature` to be > 0 but got {temperature}.")
        if not regularization >= 0:
            raise ValueError(f"Expected `regularization` to be >= 0 but got {regularization}.")
        for name, value in (("max_steps", max_steps), ("patience", patience), ("max_pairs", max_pairs)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.temperature = temperature
        self.regularization = regularization
        self.max_steps = max_steps
        self.patience = patience
        self.max_pairs = max_pairs
        self.seed = seed

    def fit(self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None = None) -> FitResult:
        """Return the best W and p, see `AffinityOptimizer.fit`."""
        train = train.drop_undefined()
        monitor = _FitMonitor(initial, train, validation, self.patience)
        better, worse = sample_ordered_pairs(train.targets, self.max_pairs, self.seed)
        start = to_vector(initial)
        with torch.no_grad():
            std = initial.score(train.sums).std()
        width = self.temperature * max(std.item(), 1e-6)

        def loss(vector: _ParameterVector) -> tuple[float, _ParameterVector]:
            started = time.perf_counter()
            values = torch.from_numpy(vector).requires_grad_()
            scores = _score_vector(values, train.sums, initial.penalty_rule)
            agreement = torch.tanh((scores[better] - scores[worse]) / width).mean()
            value = self.regularization * (values - torch.from_numpy(start)).square().sum() - agreement
            (gradient,) = torch.autograd.grad(value, values)
            monitor.add_time(started)
            return value.item(), gradient.numpy()

        monitor.record(start)
        with threadpool_limits(1, "blas"):  # for 26 numbers, threads cost more than the whole fit
            optimize.minimize(  # returns when `record` raises StopIteration
                loss,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, 1.0)] * _NUM_PARAMETERS,
                callback=lambda vector: monitor.record(vector),
                options={"maxiter": self.max_steps},
            )
        return monitor.result()


class TPEOptimizer(AffinityOptimizer):
    """Optuna's TPE over 26 numbers in [0, 1], maximizing Kendall's τ-b of the training pairs, as in the paper.

    The first trial is the initial value. If there are validation pairs, they select among the trials that improved.

    Args:
        n_trials: Number of trials.
        multivariate: Sample parameters jointly.
        n_startup_trials: Random trials before TPE starts.
        seed: Seed of the sampler.

    Raises:
        ValueError: If a number is less than 1.
    """

    def __init__(
        self, n_trials: int = 1000, multivariate: bool = True, n_startup_trials: int = 50, seed: int = 0
    ) -> None:
        for name, value in (("n_trials", n_trials), ("n_startup_trials", n_startup_trials)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.n_trials = n_trials
        self.multivariate = multivariate
        self.n_startup_trials = n_startup_trials
        self.seed = seed

    def fit(self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None = None) -> FitResult:
        """Return the best W and p, see `AffinityOptimizer.fit`."""
        train = train.drop_undefined()
        monitor = _FitMonitor(initial, train, validation, self.n_trials)
        names = [f"w{row}{column}" for row in range(NUM_TYPES) for column in range(NUM_TYPES)] + ["p"]
        sampler = optuna.samplers.TPESampler(
            seed=self.seed,
            n_startup_trials=self.n_startup_trials,
            multivariate=self.multivariate,
            constant_liar=False,  # trials are sequential
        )

        def objective(trial: optuna.Trial) -> float:
            vector = np.array([trial.suggest_float(name, 0.0, 1.0) for name in names])
            started = time.perf_counter()
            tau = monitor.tau(vector, train)
            monitor.add_time(started)
            if tau > monitor.best_train:
                monitor.record(vector, tau)
            return tau

        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            study = optuna.create_study(direction="maximize", sampler=sampler)
            study.enqueue_trial(dict(zip(names, to_vector(initial).tolist(), strict=True)))
            study.optimize(objective, n_trials=self.n_trials)
        finally:
            optuna.logging.set_verbosity(verbosity)
        return monitor.result()


class _FitMonitor:
    """Records the best values of a fit, and its duration."""

    def __init__(
        self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None, patience: int
    ) -> None:
        self.initial = initial
        self.train = train
        self.patience = patience
        self.validation = None if validation is None else validation.drop_undefined()
        self.started = time.perf_counter()
        self.scoring_time = 0.0
        self.evaluations = 0
        self.best_vector = to_vector(initial)
        self.best_train = -math.inf
        self.best_value = -math.inf
        self.steps: list[_FitStep] = []
        self.steps_without_improvement = 0

    def add_time(self, started: float) -> None:
        """Count an evaluation that started at this time."""
        self.scoring_time += time.perf_counter() - started
        self.evaluations += 1

    def record(self, vector: _ParameterVector, train_tau: float | None = None) -> None:
        """Record parameters. Raise StopIteration if validation has not improved for `patience` steps."""
        started = time.perf_counter()
        train = self.tau(vector, self.train) if train_tau is None else train_tau
        validation = None if self.validation is None else self.tau(vector, self.validation)
        self.scoring_time += time.perf_counter() - started
        value = train if validation is None else validation
        self.best_train = max(self.best_train, train)
        self.steps_without_improvement += 1
        if value > self.best_value:
            self.best_vector, self.best_value, self.steps_without_improvement = vector.copy(), value, 0
            self.steps.append(_FitStep(self.evaluations, time.perf_counter() - self.started, train, validation))
        if self.steps_without_improvement > self.patience:
            raise StopIteration

    def result(self) -> FitResult:
        weight = torch.from_numpy(self.best_vector[:-1]).view(NUM_TYPES, NUM_TYPES)
        seconds = time.perf_counter() - self.started
        return FitResult(
            affinity=AffinityMatrix(
                weight / weight.max(), self.best_vector[-1], self.initial.penalty_rule, self.initial.clamp_cosines
            ),
            steps=tuple(self.steps),
            evaluations=self.evaluations,
            seconds=seconds,
            search_seconds=seconds - self.scoring_time,
        )

    def tau(self, vector: _ParameterVector, rated: RatedMatches) -> float:
        with torch.no_grad():
            scores = _score_vector(torch.from_numpy(vector), rated.sums, self.initial.penalty_rule)
        return tau_b_or_worst(scores, rated.targets)


def to_vector(affinity: AffinityMatrix) -> _ParameterVector:
    """Return W, scaled down to a maximum of 1 if it is larger, and p as one vector."""
    weight = affinity.weight.detach()
    scaled = weight / weight.max().clamp_min(1.0)
    return np.append(scaled.numpy().ravel(), affinity.penalty.item())


def _score_vector(vector: Tensor, sums: TypePairSums, penalty_rule: PenaltyRule) -> Tensor:
    return ratescore(sums, vector[:-1].view(NUM_TYPES, NUM_TYPES), vector[-1], penalty_rule)
