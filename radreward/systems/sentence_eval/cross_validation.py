"""Nested cross-validation of the regressors of the overall score, by reference (Zhu et al., 2024, Table VIII)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from radreward.errors import InputError
from radreward.metrics.functional import kendall_tau_b
from radreward.systems.sentence_eval.judgement import average_judgements
from radreward.systems.sentence_eval.judgement_io import JudgedPair
from radreward.systems.sentence_eval.regressors.fit_regressors import (
    ParamGrids,
    RegressorParams,
    default_param_grids,
    fit_regressor,
)
from radreward.systems.sentence_eval.regressors.regressor import Array, Regressor
from radreward.systems.sentence_eval.score_features import FeatureSet, feature_values

RAW_OVERALL = "raw-overall"
"""Row of the judge's own overall score, without a regressor."""


class RegressionData(NamedTuple):
    """Judged report pairs as n rows."""

    features: Array
    """(n, d)"""
    judge_overall: Array
    """(n,) the judge's own overall score; NaN if unavailable, or if it is the target."""
    target: Array
    """(n,) score to predict, higher is better."""
    reference_ids: Array
    """(n,) int, equal for pairs with the same reference."""
    ids: Array
    """(n,) str, id of each pair."""


class RegressorResult(NamedTuple):
    """Agreement of a regressor with the target on held-out references."""

    name: str
    tau_b: float
    """Kendall's τ-b, mean over folds; NaN if undefined in every fold."""
    tau_b_std: float
    """Standard deviation over folds."""
    params: RegressorParams | None
    """Parameters selected by cross-validation over all references; None without a regressor."""
    held_out: Array
    """(n,) prediction of each pair by the regressor that was fitted to the other references; NaN if there is none."""


def regression_data(
    pairs: Sequence[JudgedPair], feature_set: FeatureSet, targets: Mapping[str, tuple[float, str]] | None = None
) -> tuple[RegressionData, int]:
    """Return the data of judged pairs, and the number of pairs that lack sentence scores or a target.

    The judgements of a pair by several raters are averaged. `targets` maps the id of a pair to its target and the name
    of its reference. By default, the target is the mean overall score, and the name is the text of the reference.

    Raises:
        InputError: If raters judged different sentences, or no pair is left.
    """
    by_id: dict[str, list[JudgedPair]] = {}
    for pair in pairs:
        by_id.setdefault(pair.id, []).append(pair)
    rows: list[tuple[tuple[float, ...], float, float, str, str]] = []
    for pair_id, repeated in by_id.items():
        first = repeated[0]
        if any((pair.reference, pair.candidate) != (first.reference, first.candidate) for pair in repeated):
            raise InputError(f"pair {pair_id!r}: Expected the same sentences from all raters.")
        judgement = average_judgements([pair.judgement for pair in repeated])
        features = feature_values(feature_set, judgement, first.reference, first.candidate)
        own = None if judgement.overall is None else (judgement.overall, " ".join(first.reference))
        target = own if targets is None else targets.get(pair_id)
        if features is not None and target is not None:
            overall = math.nan if judgement.overall is None else judgement.overall
            rows.append((features, overall, *target, pair_id))
    if not rows:
        raise InputError("Expected at least one pair with sentence scores and an overall score or rating but got none.")
    features, overalls, values, references, ids = zip(*rows, strict=True)
    judge_overall = np.full(len(rows), np.nan) if overalls == values else np.array(overalls, np.float64)
    data = RegressionData(
        np.array(features, np.float64),
        judge_overall,
        np.array(values, np.float64),
        np.unique(references, return_inverse=True)[1],
        np.array(ids, np.str_),
    )
    return data, len(by_id) - len(rows)


def nested_cross_validation(
    data: RegressionData,
    grids: ParamGrids | None = None,
    folds: int = 5,
    inner_folds: int = 3,
    seed: int = 0,
    on_progress: Callable[[str], None] = lambda _: None,
) -> list[RegressorResult]:
    """Return τ-b of the judge's own overall score, if there is one, and of regressors on held-out references.

    Each outer fold holds out references. An inner cross-validation on the other references selects the parameters of a
    regressor, which is then fitted to all of these. Pairs with the same reference are always in the same fold.

    Args:
        data: All pairs.
        grids: Regressors with the parameters to choose from; defaults to `default_param_grids`.
        folds: Number of outer folds.
        inner_folds: Number of inner folds.
        seed: Seed of the folds and the fits.
        on_progress: Called with the name of each regressor when it is finished.

    Raises:
        InputError: If there are too few references, the target is constant, or a number is not finite.
        ValueError: If a number of folds is less than 2.
    """
    if min(folds, inner_folds) < 2:
        raise ValueError(f"Expected `folds` and `inner_folds` to be >= 2 but got {folds} and {inner_folds}.")
    grids = default_param_grids() if grids is None else grids
    _validate_regression_data(data, folds, inner_folds, grids)
    splits = list(split_by_reference(data.reference_ids, folds, seed))
    tests = [test for _, test in splits]
    results = []
    if np.isfinite(data.judge_overall).any():
        results.append(_regressor_result(RAW_OVERALL, data, tests, data.judge_overall, None))
    for name, grid in grids.items():
        held_out = np.full(len(data.target), np.nan)
        for train, test in splits:
            params = select_params(name, RegressionData(*(column[train] for column in data)), grid, inner_folds, seed)
            held_out[test] = _held_out_predictions(name, data, train, test, params, seed)
        results.append(_regressor_result(name, data, tests, held_out, select_params(name, data, grid, folds, seed)))
        on_progress(name)
    return results


def fit_best(
    data: RegressionData, results: Sequence[RegressorResult], seed: int = 0
) -> tuple[RegressorResult, Regressor]:
    """Fit the regressor with the highest τ-b, the first one if several are equal, to all pairs.

    Raises:
        InputError: If no regressor has a τ-b.
    """
    defined = [entry for entry in results if entry.params is not None and not math.isnan(entry.tau_b)]
    if not defined:
        raise InputError("Expected targets that differ within held-out references: no regressor has a τ-b.")
    best = max(defined, key=lambda entry: entry.tau_b)
    return best, fit_regressor(best.name, data.features, data.target, best.params, seed)


def select_params(
    name: str, data: RegressionData, grid: Sequence[RegressorParams], folds: int, seed: int = 0
) -> RegressorParams:
    """Return the parameters with the highest τ-b on held-out references, the first ones if several are equal."""
    if len(grid) == 1:
        return grid[0]
    splits = list(split_by_reference(data.reference_ids, folds, seed + 1))

    def mean_tau_b(params: RegressorParams) -> float:
        held_out = np.full(len(data.target), np.nan)
        for train, test in splits:
            held_out[test] = _held_out_predictions(name, data, train, test, params, seed)
        result = _regressor_result(name, data, [test for _, test in splits], held_out, params)
        return float(np.nan_to_num(result.tau_b, nan=-2.0))

    return max(grid, key=mean_tau_b)


def _held_out_predictions(
    name: str, data: RegressionData, train: Array, test: Array, params: RegressorParams, seed: int
) -> Array:
    """Return predictions of the rows `test` after a fit to `train`; NaN if the targets of `train` are all equal."""
    if np.ptp(data.target[train]) == 0:
        return np.full(len(test), np.nan)
    return fit_regressor(name, data.features[train], data.target[train], params, seed).predict(data.features[test])


def split_by_reference(reference_ids: Array, folds: int, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """Yield the row indices for training and for testing of each fold. Rows of a reference stay together.

    >>> [test.tolist() for _, test in split_by_reference(np.array([0, 0, 1, 2]), 3)]
    [[3], [0, 1], [2]]
    """
    order = np.random.default_rng(seed).permutation(np.unique(reference_ids))
    for fold in np.array_split(order, folds):
        is_held_out = np.isin(reference_ids, fold)
        yield np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def _validate_regression_data(data: RegressionData, folds: int, inner_folds: int, grids: ParamGrids) -> None:
    """Raise an `InputError` unless every regressor can be fitted in every fold."""
    num_references, needed = len(np.unique(data.reference_ids)), folds * inner_folds
    max_neighbors = max(int(params.get("n_neighbors", 1)) for grid in grids.values() for params in grid)
    if num_references < needed:
        counts = f"{needed} references, for {folds} × {inner_folds} folds, but got {num_references}"
        raise InputError(f"Expected at least {counts}.")
    min_training_rows = min(len(train) for train, _ in split_by_reference(data.reference_ids, folds))
    if (innermost := min_training_rows * (inner_folds - 1) // inner_folds) < 2 * max_neighbors:
        raise InputError(
            f"Expected {2 * max_neighbors} training pairs in each innermost fold, twice the largest `n_neighbors`, but "
            f"one of {len(data.target)} pairs in all has {innermost}. Give more pairs, or a smaller `n_neighbors`."
        )
    for name, values in (("features", data.features), ("targets", data.target)):
        if not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise InputError(f"Expected finite {name} but row {row} has a value that is not.")
    if np.ptp(data.target) == 0:
        raise InputError(f"Expected targets that differ but all {len(data.target)} are {data.target[0]:g}.")


def _tau_b(scores: Array, target: Array) -> float:
    return float(kendall_tau_b(torch.from_numpy(np.asarray(scores)), torch.from_numpy(np.asarray(target))))


def _regressor_result(
    name: str, data: RegressionData, tests: Sequence[Array], held_out: Array, params: RegressorParams | None
) -> RegressorResult:
    """Return the mean τ-b of predictions over folds; `tests` are the rows of each fold."""
    taus = [_tau_b(held_out[test], data.target[test]) for test in tests]
    defined = [value for value in taus if not math.isnan(value)]
    mean, std = (float(np.mean(defined)), float(np.std(defined))) if defined else (math.nan, math.nan)
    return RegressorResult(name, mean, std, params, held_out)
