"""What regressors of an overall score are worth: nested cross-validation by reference (Zhu et al., Table VIII)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from radreward.errors import InputError
from radreward.metrics.functional import kendall_tau_b
from radreward.systems.sentence_eval.regressors import REGRESSORS, Regressor, fit_regressor, param_grid
from radreward.systems.sentence_eval.regressors.fit_regressors import RegressorParams
from radreward.systems.sentence_eval.regressors.regressor import Array

RAW_OVERALL = "unregressed"
"""The row of the score that the judge itself gives."""


class RegressionData(NamedTuple):
    """Pairs of reports as n rows."""

    features: Array
    """(n, d)"""
    judge_overall: Array
    """(n,) the judge's own score; NaN where it gives none."""
    target: Array
    """(n,) what is to be predicted, higher is better."""
    reference_ids: Array
    """(n,) int: which reference."""


class RegressorResult(NamedTuple):
    """What a regressor is worth on references that it was not fitted to."""

    name: str
    tau_b: float
    """The mean over folds; NaN where no fold has one."""
    tau_b_std: float
    """The standard deviation over folds."""
    params: RegressorParams | None
    """Those that are best by cross-validation over all references."""


def nested_cross_validation(
    data: RegressionData,
    regressors: Sequence[str] = tuple(REGRESSORS),
    folds: int = 5,
    inner_folds: int = 3,
    seed: int = 0,
    on_progress: Callable[[str], None] = lambda _: None,
) -> list[RegressorResult]:
    """τ-b of the unregressed score and of regressors on held-out references.

    Each outer fold holds references out; among the others an inner cross-validation chooses a regressor's settings by
    τ-b, and the regressor is fitted with them to all of these. No reference is ever on both sides.

    Args:
        pairs: All there is.
        names: Of `REGRESSORS`.
        folds: Outer folds.
        inner: Inner folds.
        seed: Decides folds and draws.
        told: Called with the name of each regressor when it is done.

    Raises:
        InputError: If there are too few references, the target is constant, or a number is not finite.
        ValueError: If a number of folds is less than 2, or a regressor is unknown.
    """
    if min(folds, inner_folds) < 2:
        raise ValueError(f"Expected `folds` and `inner` to be >= 2 but got {folds} and {inner_folds}.")
    validate_regression_data(data, folds, inner_folds)
    parts = list(split_by_reference(data.reference_ids, folds, seed))
    found = [
        _average_folds(RAW_OVERALL, [_tau_b(data.judge_overall[test], data.target[test]) for _, test in parts], None)
    ]
    for name in regressors:
        taus = []
        for train, test in parts:
            known = RegressionData(*(column[train] for column in data))
            settings = select_params(name, known, inner_folds, seed)
            fitted = fit_regressor(name, known.features, known.target, settings, seed)
            taus.append(_tau_b(fitted.predict(data.features[test]), data.target[test]))
        found.append(_average_folds(name, taus, select_params(name, data, folds, seed)))
        on_progress(name)
    return found


def fit_best(
    data: RegressionData, results: Sequence[RegressorResult], seed: int = 0
) -> tuple[RegressorResult, Regressor]:
    """The regressor with the highest τ-b on held-out references, fitted to all; of equals the first.

    Raises:
        InputError: If none has a τ-b.
    """
    known = [entry for entry in results if entry.params is not None and not math.isnan(entry.tau_b)]
    if not known:
        raise InputError("Expected targets that differ within held-out references: no regressor has a τ-b.")
    best = max(known, key=lambda entry: entry.tau_b)
    return best, fit_regressor(best.name, data.features, data.target, best.params, seed)


def select_params(name: str, data: RegressionData, folds: int, seed: int = 0) -> RegressorParams:
    """The settings of a regressor with the highest τ-b over held-out references; of equals the first."""
    options = param_grid(name)
    parts = list(split_by_reference(data.reference_ids, folds, seed + 1))
    means = [
        _average_folds(name, [_held_out_tau(name, data, *part, entry, seed) for part in parts], None)
        for entry in options
    ]
    return options[max(range(len(options)), key=lambda place: np.nan_to_num(means[place].tau_b, nan=-2.0))]


def _held_out_tau(
    name: str, data: RegressionData, train: Array, test: Array, params: RegressorParams, seed: int
) -> float:
    if np.ptp(data.target[train]) == 0:
        return math.nan
    fitted = fit_regressor(name, data.features[train], data.target[train], params, seed)
    return _tau_b(fitted.predict(data.features[test]), data.target[test])


def split_by_reference(reference_ids: Array, folds: int, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """Rows to fit to and rows to test on, of each fold; the rows of a reference stay together.

    >>> [test.tolist() for _, test in held_out_references(np.array([0, 0, 1, 2]), 3)]
    [[3], [0, 1], [2]]
    """
    order = np.random.default_rng(seed).permutation(np.unique(reference_ids))
    for part in np.array_split(order, folds):
        held = np.isin(reference_ids, part)
        yield np.flatnonzero(~held), np.flatnonzero(held)


def validate_regression_data(data: RegressionData, folds: int, inner_folds: int) -> None:
    """Refuse what no regressor can be fitted to.

    Raises:
        InputError: Says what was expected.
    """
    references = len(np.unique(data.reference_ids))
    most = max(int(entry.get("n_neighbors", 0)) for kind in REGRESSORS.values() for entry in kind.grid)
    if references < folds * inner_folds:
        raise InputError(
            f"Expected {folds * inner_folds} references at least, for {folds} × {inner_folds} folds, but got {references}."
        )
    fewest = min(len(train) for train, _ in split_by_reference(data.reference_ids, folds))
    if (left := fewest * (inner_folds - 1) // inner_folds) < 2 * most:
        raise InputError(
            f"Expected more than {len(data.target)} pairs: {left} of them are left to fit to in the innermost folds, "
            f"but {2 * most} are needed."
        )
    for name, values in (("features", data.features), ("targets", data.target)):
        if not np.isfinite(values).all():
            raise InputError(f"Expected finite {name} but row {int(np.argwhere(~np.isfinite(values))[0][0])} has none.")
    if np.ptp(data.target) == 0:
        raise InputError(f"Expected targets that differ but all {len(data.target)} are {data.target[0]:g}.")


def _tau_b(scores: Array, target: Array) -> float:
    return float(kendall_tau_b(torch.from_numpy(np.asarray(scores)), torch.from_numpy(np.asarray(target))))


def _average_folds(name: str, taus: Sequence[float], params: RegressorParams | None) -> RegressorResult:
    known = [value for value in taus if not math.isnan(value)]
    if not known:
        return RegressorResult(name, math.nan, math.nan, params)
    return RegressorResult(name, float(np.mean(known)), float(np.std(known)), params)
