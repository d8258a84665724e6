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
from radreward.systems.ratescore.affinity_matrix import AffinityWeights
from radreward.systems.ratescore.functional import PenaltyRule, affinity_score
from radreward.systems.ratescore.matching import TYPES, TypeSums

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
"""(26,) W row by row, then p."""
SIZE = TYPES * TYPES + 1


class Rated(NamedTuple):
    """n pairs of reports whose quality is known."""

    sums: TypeSums
    """Their matches, added up by types."""
    quality: Tensor
    """(n,) float64, higher is better."""
    group: Tensor
    """(n,) int64: which reference."""

    def take(self, rows: Tensor) -> Rated:
        """Those of some pairs: (k,) int64, or (n,) bool."""
        return Rated(self.sums.take(rows), self.quality[rows], self.group[rows])

    def usable(self, folds: int = 1) -> Rated:
        """Without the pairs of which a report has no entity.

        Args:
            folds: How many parts with a reference or more shall be made of them.

        Raises:
            InputError: If fewer than two are left, they are all of one quality, or their references are fewer than
                `folds`.
        """
        kept = self.take(self.sums.defined)
        values = len(torch.unique(kept.quality))
        if values < 2:
            raise InputError(
                f"Expected pairs of different quality to fit to, but of {len(self.quality)} pairs "
                f"{len(kept.quality)} have entities on both sides and {values} different values."
            )
        if (references := len(torch.unique(kept.group))) < folds:
            raise InputError(f"Expected at least {folds} references for {folds} folds but got {references}.")
        return kept

    def split(self, share: float, seed: int) -> tuple[Rated, Rated]:
        """Two parts without a reference in common; the second has about `share` of them."""
        fold = _folds(self.group, max(2, round(1 / share)), seed)
        return self.take(fold != 0), self.take(fold == 0)


class Step(NamedTuple):
    """Where a fit was after some evaluations."""

    evaluations: int
    seconds: float
    train: float
    """Kendall's τ-b of the pairs that are fitted to."""
    validation: float | None
    """That of the pairs that decide when to stop."""


class Fitted(NamedTuple):
    """What came out of a fit."""

    weights: AffinityWeights
    """The best; W is scaled to have 1 as its largest, which changes no score."""
    steps: tuple[Step, ...]
    """On the way, the best last."""
    evaluations: int
    seconds: float
    search_seconds: float
    """Of these, not spent on scores and their correlation: what the method itself took."""


class AffinityFit(ABC):
    """A way to find W and p; one method."""

    @abstractmethod
    def fit(self, start: AffinityWeights, train: Rated, validation: Rated | None = None) -> Fitted:
        """The best W and p.

        Args:
            start: Where to begin; its rule and clamping are kept.
            train: Pairs to fit to.
            validation: Pairs that decide when to stop and which of the weights on the way are the best.

        Raises:
            InputError: If there is nothing to fit to, see `Rated.usable`.
        """


class GradientFit(AffinityFit):
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
        regularisation: float = 0.003,
        steps: int = 100,
        patience: int = 20,
        pairs: int = 50_000,
        seed: int = 0,
    ) -> None:
        if not temperature > 0:
            raise ValueError(f"Expected `temperature` to be > 0 but got {temperature}.")
        if not regularisation >= 0:
            raise ValueError(f"Expected `regularisation` to be >= 0 but got {regularisation}.")
        for name, value in (("steps", steps), ("patience", patience), ("pairs", pairs)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.temperature, self.regularisation, self.steps = temperature, regularisation, steps
        self.patience, self.pairs, self.seed = patience, pairs, seed

    def fit(self, start: AffinityWeights, train: Rated, validation: Rated | None = None) -> Fitted:
        """The best W and p, see `AffinityFit.fit`."""
        train = train.usable()
        watch = _Watch(start, train, validation, self.patience)
        better, worse = ordered_pairs(train.quality, self.pairs, self.seed)
        begin = _vector(start)
        with torch.no_grad():
            spread = start.score(train.sums).std()
        width = self.temperature * max(spread.item(), 1e-6)

        def loss(vector: Vector) -> tuple[float, Vector]:
            began = time.perf_counter()
            values = torch.from_numpy(vector).requires_grad_()
            scores = _score(values, train.sums, start.rule)
            agreement = torch.tanh((scores[better] - scores[worse]) / width).mean()
            value = self.regularisation * (values - torch.from_numpy(begin)).square().sum() - agreement
            (gradient,) = torch.autograd.grad(value, values)
            watch.spent(began)
            return value.item(), gradient.numpy()

        watch.see(begin)
        with threadpool_limits(1, "blas"):  # for 26 numbers, threads cost more than the whole fit
            optimize.minimize(  # ends on the StopIteration of `see`
                loss,
                begin,
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, 1.0)] * SIZE,
                callback=lambda vector: watch.see(vector),
                options={"maxiter": self.steps},
            )
        return watch.result()


class TPEFit(AffinityFit):
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

    def __init__(self, trials: int = 1000, multivariate: bool = True, startup: int = 50, seed: int = 0) -> None:
        for name, value in (("trials", trials), ("startup", startup)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.trials, self.multivariate, self.startup, self.seed = trials, multivariate, startup, seed

    def fit(self, start: AffinityWeights, train: Rated, validation: Rated | None = None) -> Fitted:
        """The best W and p, see `AffinityFit.fit`."""
        train = train.usable()
        watch = _Watch(start, train, validation, self.trials)
        names = [f"w{row}{column}" for row in range(TYPES) for column in range(TYPES)] + ["p"]
        sampler = optuna.samplers.TPESampler(
            seed=self.seed,
            n_startup_trials=self.startup,
            multivariate=self.multivariate,
            constant_liar=False,  # one trial at a time
        )

        def objective(trial: optuna.Trial) -> float:
            vector = np.array([trial.suggest_float(name, 0.0, 1.0) for name in names])
            began = time.perf_counter()
            tau = watch.train_tau(vector)
            watch.spent(began)
            if tau > watch.best_train:
                watch.see(vector, tau)
            return tau

        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            study = optuna.create_study(direction="maximize", sampler=sampler)
            study.enqueue_trial(dict(zip(names, _vector(start).tolist(), strict=True)))
            study.optimize(objective, n_trials=self.trials)
        finally:
            optuna.logging.set_verbosity(level)
        return watch.result()


class _Watch:
    """Keeps the best weights of a fit and what it took."""

    def __init__(self, start: AffinityWeights, train: Rated, validation: Rated | None, patience: int) -> None:
        self.start, self.train, self.patience = start, train, patience
        self.validation = None if validation is None else validation.usable()
        self.began, self.busy, self.evaluations = time.perf_counter(), 0.0, 0
        self.best, self.best_train, self.best_value = _vector(start), -math.inf, -math.inf
        self.steps: list[Step] = []
        self.waited = 0

    def train_tau(self, vector: Vector) -> float:
        return self._tau(vector, self.train)

    def spent(self, began: float) -> None:
        self.busy += time.perf_counter() - began
        self.evaluations += 1

    def see(self, vector: Vector, train: float | None = None) -> None:
        """Note the weights, and end the fit by StopIteration when validation no longer gets better."""
        began = time.perf_counter()
        tau = self.train_tau(vector) if train is None else train
        checked = None if self.validation is None else self._tau(vector, self.validation)
        self.busy += time.perf_counter() - began
        value = tau if checked is None else checked
        self.best_train = max(self.best_train, tau)
        self.waited += 1
        if value > self.best_value:
            self.best, self.best_value, self.waited = vector.copy(), value, 0
            self.steps.append(Step(self.evaluations, time.perf_counter() - self.began, tau, checked))
        if self.waited > self.patience:
            raise StopIteration

    def result(self) -> Fitted:
        weight = torch.from_numpy(self.best[:-1]).view(TYPES, TYPES)
        weights = AffinityWeights(weight / weight.max(), self.best[-1], self.start.rule, self.start.clamp)
        seconds = time.perf_counter() - self.began
        return Fitted(weights, tuple(self.steps), self.evaluations, seconds, seconds - self.busy)

    def _tau(self, vector: Vector, rated: Rated) -> float:
        with torch.no_grad():
            scores = _score(torch.from_numpy(vector), rated.sums, self.start.rule)
        return tau_b(scores, rated.quality)


class CrossValidated(NamedTuple):
    """τ-b of references that took no part in the fit, fold by fold."""

    start: tuple[float, ...]
    """Of the weights that the fits began with."""
    fitted: tuple[float, ...]


Track = Callable[[Iterable[int]], Iterable[int]]
"""Shows how far a loop is."""


def cross_validate(
    method: AffinityFit,
    start: AffinityWeights,
    rated: Rated,
    folds: int = 5,
    seed: int = 0,
    inner: float = 0.2,
    track: Track = iter,
) -> CrossValidated:
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
    rated = rated.usable(folds)
    fold = _folds(rated.group, folds, seed)
    before: list[float] = []
    after: list[float] = []
    for number in track(range(folds)):
        rest, held = rated.take(fold != number), rated.take(fold == number)
        fitted = method.fit(start, *rest.split(inner, seed + 1)).weights
        for weights, values in ((start, before), (fitted, after)):
            with torch.no_grad():
                values.append(tau_b(weights.score(held.sums), held.quality))
    return CrossValidated(tuple(before), tuple(after))


class Intervals(NamedTuple):
    """Percentile intervals of W and p."""

    low: AffinityWeights
    high: AffinityWeights
    samples: int


def bootstrap(
    method: AffinityFit,
    start: AffinityWeights,
    rated: Rated,
    samples: int = 100,
    level: float = 0.95,
    seed: int = 0,
    track: Track = iter,
) -> Intervals:
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
    rated = rated.usable()
    _, index = torch.unique(rated.group, return_inverse=True)
    members = [(index == group).nonzero().flatten() for group in range(int(index.max()) + 1)]
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in track(range(samples)):
        drawn = torch.randint(len(members), (len(members),), generator=generator).tolist()
        weights = method.fit(start, rated.take(torch.cat([members[group] for group in drawn]))).weights
        found.append(_vector(weights))
    ends = np.quantile(np.stack(found), [(1 - level) / 2, (1 + level) / 2], axis=0)
    low, high = (AffinityWeights(end[:-1].reshape(TYPES, TYPES).tolist(), end[-1], start.rule) for end in ends)
    return Intervals(low, high, samples)


def ordered_pairs(quality: Tensor, most: int, seed: int) -> tuple[Tensor, Tensor]:
    """Indices of the better and of the worse of pairs (k,) with different quality.

    Args:
        quality: (n,), higher is better.
        most: All pairs where there are not more, else about so many draws, those with equal quality left out.
        seed: Of the draws.
    """
    size = len(quality)
    if size * (size - 1) // 2 <= most:
        first, second = torch.triu_indices(size, size, 1)
    else:
        generator = torch.Generator().manual_seed(seed)
        first, second = torch.randint(size, (2, most), generator=generator)
    lead = quality[first] - quality[second]
    better, worse = torch.where(lead > 0, first, second), torch.where(lead > 0, second, first)
    return better[lead != 0], worse[lead != 0]


def tau_b(scores: Tensor, quality: Tensor) -> float:
    """Kendall's τ-b, -1 where all scores are equal: no ranking at all is never the best."""
    value = float(stats.kendalltau(scores.numpy(), quality.numpy()).statistic)
    return -1.0 if math.isnan(value) else value


def _score(vector: Tensor, sums: TypeSums, rule: PenaltyRule) -> Tensor:
    return affinity_score(sums, vector[:-1].view(TYPES, TYPES), vector[-1], rule)


def _vector(weights: AffinityWeights) -> Vector:
    """W is scaled down where it is larger than 1."""
    weight = weights.weight.detach()
    scaled = weight / weight.max().clamp_min(1.0)
    return np.append(scaled.numpy().ravel(), weights.penalty.item())


def _folds(group: Tensor, folds: int, seed: int) -> Tensor:
    """(n,) int64 fold of each pair; folds hold as many references as each other, nearly."""
    _, index = torch.unique(group, return_inverse=True)
    size = int(index.max()) + 1
    order = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
    fold = torch.empty(size, dtype=torch.int64)
    fold[order] = torch.arange(size) % folds
    return fold[index]
