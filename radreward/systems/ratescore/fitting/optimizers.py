"""W and p from rated pairs: by gradient through a smooth rank correlation, or by TPE as published."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import optuna
import torch
from scipy import optimize, stats
from threadpoolctl import threadpool_limits
from torch import Tensor

from radreward.errors import InputError
from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.functional import PenaltyRule, ratescore
from radreward.systems.ratescore.matching import NUM_TYPES, TypePairSums

ParameterVector = np.ndarray[tuple[int], np.dtype[np.float64]]
"""(26,) W row by row, then p."""
NUM_PARAMETERS = NUM_TYPES * NUM_TYPES + 1


class RatedMatches(NamedTuple):
    """n pairs of reports whose quality is known."""

    sums: TypePairSums
    """Their matches, added up by types."""
    quality: Tensor
    """(n,) float64, higher is better."""
    group: Tensor
    """(n,) int64: which reference."""

    def select(self, rows: Tensor) -> RatedMatches:
        """Those of some pairs: (k,) int64, or (n,) bool."""
        return RatedMatches(self.sums.select(rows), self.quality[rows], self.group[rows])

    def drop_undefined(self, min_references: int = 1) -> RatedMatches:
        """Without the pairs of which a report has no entity.

        Args:
            folds: How many parts with a reference or more shall be made of them.

        Raises:
            InputError: If fewer than two are left, they are all of one quality, or their references are fewer than
                `folds`.
        """
        kept = self.select(self.sums.defined)
        values = len(torch.unique(kept.quality))
        if values < 2:
            raise InputError(
                f"Expected pairs of different quality to fit to, but of {len(self.quality)} pairs "
                f"{len(kept.quality)} have entities on both sides and {values} different values."
            )
        if (references := len(torch.unique(kept.group))) < min_references:
            raise InputError(
                f"Expected at least {min_references} references for {min_references} folds but got {references}."
            )
        return kept

    def split(self, fraction: float, seed: int) -> tuple[RatedMatches, RatedMatches]:
        """Two parts without a reference in common; the second has about `share` of them."""
        fold = _assign_folds(self.group, max(2, round(1 / fraction)), seed)
        return self.select(fold != 0), self.select(fold == 0)


class FitStep(NamedTuple):
    """Where a fit was after some evaluations."""

    evaluations: int
    seconds: float
    train: float
    """Kendall's τ-b of the pairs that are fitted to."""
    validation: float | None
    """That of the pairs that decide when to stop."""


class FitResult(NamedTuple):
    """What came out of a fit."""

    affinity: AffinityMatrix
    """The best; W is scaled to have 1 as its largest, which changes no score."""
    steps: tuple[FitStep, ...]
    """On the way, the best last."""
    evaluations: int
    seconds: float
    search_seconds: float
    """Of these, not spent on scores and their correlation: what the method itself took."""


class AffinityOptimizer(ABC):
    """A way to find W and p; one method."""

    @abstractmethod
    def fit(self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None = None) -> FitResult:
        """The best W and p.

        Args:
            start: Where to begin; its rule and clamping are kept.
            train: Pairs to fit to.
            validation: Pairs that decide when to stop and which of the weights on the way are the best.

        Raises:
            InputError: If there is nothing to fit to, see `Rated.usable`.
        """


class GradientOptimizer(AffinityOptimizer):
    r"""Ours: L-BFGS-B on a smooth Kendall's τ, minus a pull toward the start.

    Maximised is the mean of sign(q_i - q_j)·tanh((s_i - s_j) / T) over pairs with different quality q, which nears
    Kendall's τ as T falls, less `regularisation` times the squared distance from the start. tanh, because it stops
    rewarding a pair that is ordered right already, as τ does, where a logistic or hinge loss would spend the few
    parameters on pairs that are far off. T is `temperature` standard deviations of the scores at the start: scores are
    confined to [0, 1], so that a scale cannot be learnt. The bounds 0 <= W, p <= 1 are the optimizer's: with
    a sigmoid, entries that start near 0 would have no gradient.

    Args:
        temperature: T in standard deviations of the scores at the start.
        regularisation: What a squared distance of 1 in W and p costs, in units of τ.
        steps: Most iterations.
        patience: Stop after so many iterations without a better validation.
        pairs: Pairs that are compared, drawn once; all of them where there are not more.
        seed: Decides the pairs.

    Raises:
        ValueError: If a value is out of its range.
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
            raise ValueError(f"Expected `regularisation` to be >= 0 but got {regularization}.")
        for name, value in (("steps", max_steps), ("patience", patience), ("pairs", max_pairs)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.temperature, self.regularization, self.max_steps = temperature, regularization, max_steps
        self.patience, self.max_pairs, self.seed = patience, max_pairs, seed

    def fit(self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None = None) -> FitResult:
        """The best W and p, see `AffinityOptimizer.fit`."""
        train = train.drop_undefined()
        watch = _FitMonitor(initial, train, validation, self.patience)
        better, worse = sample_ordered_pairs(train.quality, self.max_pairs, self.seed)
        begin = _to_vector(initial)
        with torch.no_grad():
            spread = initial.score(train.sums).std()
        width = self.temperature * max(spread.item(), 1e-6)

        def loss(vector: ParameterVector) -> tuple[float, ParameterVector]:
            began = time.perf_counter()
            values = torch.from_numpy(vector).requires_grad_()
            scores = _score_vector(values, train.sums, initial.penalty_rule)
            agreement = torch.tanh((scores[better] - scores[worse]) / width).mean()
            value = self.regularization * (values - torch.from_numpy(begin)).square().sum() - agreement
            (gradient,) = torch.autograd.grad(value, values)
            watch.add_time(began)
            return value.item(), gradient.numpy()

        watch.record(begin)
        with threadpool_limits(1, "blas"):  # for 26 numbers, threads cost more than the whole fit
            optimize.minimize(  # ends on the StopIteration of `see`
                loss,
                begin,
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, 1.0)] * NUM_PARAMETERS,
                callback=lambda vector: watch.record(vector),
                options={"maxiter": self.max_steps},
            )
        return watch.result()


class TPEOptimizer(AffinityOptimizer):
    """As published: Optuna's TPE over 26 numbers in [0, 1], by Kendall's τ-b of the pairs that are fitted to.

    The first trial is the start. Validation, where given, chooses among the trials that were the best so far.

    Args:
        trials: How many.
        multivariate: Whether parameters are proposed together.
        startup: Random trials before TPE begins.
        seed: Of the sampler.

    Raises:
        ValueError: If a number is less than 1.
    """

    def __init__(
        self, n_trials: int = 1000, multivariate: bool = True, n_startup_trials: int = 50, seed: int = 0
    ) -> None:
        for name, value in (("trials", n_trials), ("startup", n_startup_trials)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.n_trials, self.multivariate, self.n_startup_trials, self.seed = (
            n_trials,
            multivariate,
            n_startup_trials,
            seed,
        )

    def fit(self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None = None) -> FitResult:
        """The best W and p, see `AffinityOptimizer.fit`."""
        train = train.drop_undefined()
        watch = _FitMonitor(initial, train, validation, self.n_trials)
        names = [f"w{row}{column}" for row in range(NUM_TYPES) for column in range(NUM_TYPES)] + ["p"]
        sampler = optuna.samplers.TPESampler(
            seed=self.seed,
            n_startup_trials=self.n_startup_trials,
            multivariate=self.multivariate,
            constant_liar=False,  # one trial at a time
        )

        def objective(trial: optuna.Trial) -> float:
            vector = np.array([trial.suggest_float(name, 0.0, 1.0) for name in names])
            began = time.perf_counter()
            tau = watch.train_tau(vector)
            watch.add_time(began)
            if tau > watch.best_train:
                watch.record(vector, tau)
            return tau

        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            study = optuna.create_study(direction="maximize", sampler=sampler)
            study.enqueue_trial(dict(zip(names, _to_vector(initial).tolist(), strict=True)))
            study.optimize(objective, n_trials=self.n_trials)
        finally:
            optuna.logging.set_verbosity(level)
        return watch.result()


class _FitMonitor:
    """Keeps the best weights of a fit and what it took."""

    def __init__(
        self, initial: AffinityMatrix, train: RatedMatches, validation: RatedMatches | None, patience: int
    ) -> None:
        self.initial, self.train, self.patience = initial, train, patience
        self.validation = None if validation is None else validation.drop_undefined()
        self.started, self.scoring_time, self.evaluations = time.perf_counter(), 0.0, 0
        self.best_vector, self.best_train, self.best_value = _to_vector(initial), -math.inf, -math.inf
        self.steps: list[FitStep] = []
        self.steps_without_improvement = 0

    def train_tau(self, vector: ParameterVector) -> float:
        return self._tau(vector, self.train)

    def add_time(self, started: float) -> None:
        self.scoring_time += time.perf_counter() - started
        self.evaluations += 1

    def record(self, vector: ParameterVector, train_tau: float | None = None) -> None:
        """Note the weights, and end the fit by StopIteration when validation no longer gets better."""
        began = time.perf_counter()
        tau = self.train_tau(vector) if train_tau is None else train_tau
        checked = None if self.validation is None else self._tau(vector, self.validation)
        self.scoring_time += time.perf_counter() - began
        value = tau if checked is None else checked
        self.best_train = max(self.best_train, tau)
        self.steps_without_improvement += 1
        if value > self.best_value:
            self.best_vector, self.best_value, self.steps_without_improvement = vector.copy(), value, 0
            self.steps.append(FitStep(self.evaluations, time.perf_counter() - self.started, tau, checked))
        if self.steps_without_improvement > self.patience:
            raise StopIteration

    def result(self) -> FitResult:
        weight = torch.from_numpy(self.best_vector[:-1]).view(NUM_TYPES, NUM_TYPES)
        weights = AffinityMatrix(
            weight / weight.max(), self.best_vector[-1], self.initial.penalty_rule, self.initial.clamp_cosines
        )
        seconds = time.perf_counter() - self.started
        return FitResult(weights, tuple(self.steps), self.evaluations, seconds, seconds - self.scoring_time)

    def _tau(self, vector: ParameterVector, rated: RatedMatches) -> float:
        with torch.no_grad():
            scores = _score_vector(torch.from_numpy(vector), rated.sums, self.initial.penalty_rule)
        return tau_b_or_worst(scores, rated.quality)


class CrossValidation(NamedTuple):
    """τ-b of references that took no part in the fit, fold by fold."""

    initial: tuple[float, ...]
    """Of the weights that the fits began with."""
    fitted: tuple[float, ...]


ProgressIterator = Callable[[Iterable[int]], Iterable[int]]
"""Shows how far a loop is."""


def cross_validate_affinity(
    method: AffinityOptimizer,
    initial: AffinityMatrix,
    rated: RatedMatches,
    n_folds: int = 5,
    seed: int = 0,
    early_stopping_split: float = 0.2,
    progress: ProgressIterator = iter,
) -> CrossValidation:
    """Fit on all folds but one and measure on that one, in turn; references are never split.

    Args:
        method: How to fit.
        start: Where each fit begins.
        rated: All pairs.
        folds: How many.
        seed: Decides the folds.
        inner: Share of the references of each fit that decides when to stop.
        track: Goes over the folds.

    Raises:
        InputError: If there are fewer references than folds.
    """
    rated = rated.drop_undefined(n_folds)
    fold = _assign_folds(rated.group, n_folds, seed)
    before: list[float] = []
    after: list[float] = []
    for number in progress(range(n_folds)):
        rest, held = rated.select(fold != number), rated.select(fold == number)
        fitted = method.fit(initial, *rest.split(early_stopping_split, seed + 1)).affinity
        for weights, values in ((initial, before), (fitted, after)):
            with torch.no_grad():
                values.append(tau_b_or_worst(weights.score(held.sums), held.quality))
    return CrossValidation(tuple(before), tuple(after))


class ConfidenceIntervals(NamedTuple):
    """Percentile intervals of W and p."""

    low: AffinityMatrix
    high: AffinityMatrix
    n_resamples: int


def bootstrap_affinity(
    method: AffinityOptimizer,
    initial: AffinityMatrix,
    rated: RatedMatches,
    n_resamples: int = 100,
    level: float = 0.95,
    seed: int = 0,
    progress: ProgressIterator = iter,
) -> ConfidenceIntervals:
    """Fit again to references drawn with replacement; the middle `level` of each weight.

    W has 1 as its largest entry in each fit. Types that never met stay where they started.

    Args:
        method: How to fit.
        start: Where each fit begins.
        rated: All pairs.
        samples: Fits.
        level: Share of the fits within the interval.
        seed: Decides the draws.
        track: Goes over the fits.
    """
    rated = rated.drop_undefined()
    _, index = torch.unique(rated.group, return_inverse=True)
    members = [(index == group).nonzero().flatten() for group in range(int(index.max()) + 1)]
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in progress(range(n_resamples)):
        drawn = torch.randint(len(members), (len(members),), generator=generator).tolist()
        weights = method.fit(initial, rated.select(torch.cat([members[group] for group in drawn]))).affinity
        found.append(_to_vector(weights))
    ends = np.quantile(np.stack(found), [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = (
        AffinityMatrix(end[:-1].reshape(NUM_TYPES, NUM_TYPES).tolist(), end[-1], initial.penalty_rule) for end in ends
    )
    return ConfidenceIntervals(low, high, n_resamples)


def sample_ordered_pairs(quality: Tensor, max_pairs: int, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of the better and of the worse of pairs (k,) with different quality.

    Args:
        quality: (n,), higher is better.
        most: All pairs where there are not more, else about so many draws, those with equal quality left out.
        seed: Of the draws.
    """
    size = len(quality)
    if size * (size - 1) // 2 <= max_pairs:
        first, second = torch.triu_indices(size, size, 1)
    else:
        generator = torch.Generator().manual_seed(seed)
        first, second = torch.randint(size, (2, max_pairs), generator=generator)
    lead = quality[first] - quality[second]
    better, worse = torch.where(lead > 0, first, second), torch.where(lead > 0, second, first)
    return better[lead != 0], worse[lead != 0]


def tau_b_or_worst(scores: Tensor, quality: Tensor) -> float:
    """Kendall's τ-b, -1 where all scores are equal: no ranking at all is never the best."""
    value = float(stats.kendalltau(scores.numpy(), quality.numpy()).statistic)
    return -1.0 if math.isnan(value) else value


def _score_vector(vector: Tensor, sums: TypePairSums, penalty_rule: PenaltyRule) -> Tensor:
    return ratescore(sums, vector[:-1].view(NUM_TYPES, NUM_TYPES), vector[-1], penalty_rule)


def _to_vector(affinity: AffinityMatrix) -> ParameterVector:
    """W is scaled down where it is larger than 1."""
    weight = affinity.weight.detach()
    scaled = weight / weight.max().clamp_min(1.0)
    return np.append(scaled.numpy().ravel(), affinity.penalty.item())


def _assign_folds(group: Tensor, n_folds: int, seed: int) -> Tensor:
    """(n,) int64 fold of each pair; folds hold as many references as each other, nearly."""
    _, index = torch.unique(group, return_inverse=True)
    size = int(index.max()) + 1
    order = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
    fold = torch.empty(size, dtype=torch.int64)
    fold[order] = torch.arange(size) % n_folds
    return fold[index]
