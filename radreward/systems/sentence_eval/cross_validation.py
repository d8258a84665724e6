"""What regressors of an overall score are worth: nested cross-validation by reference (Zhu et al., Table VIII)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from radreward.errors import InputError
from radreward.metrics.functional import kendall_tau_b
from radreward.systems.sentence_eval.regressors import REGRESSORS, Regressor, fit_regressor, settings_of
from radreward.systems.sentence_eval.regressors.fit_regressors import Settings
from radreward.systems.sentence_eval.regressors.regressor import Array

UNREGRESSED = "unregressed"
"""The row of the score that the judge itself gives."""


class Pairs(NamedTuple):
    """Pairs of reports as n rows."""

    features: Array
    """(n, d)"""
    overall: Array
    """(n,) the judge's own score; NaN where it gives none."""
    target: Array
    """(n,) what is to be predicted, higher is better."""
    group: Array
    """(n,) int: which reference."""


class Validated(NamedTuple):
    """What a regressor is worth on references that it was not fitted to."""

    name: str
    tau_b: float
    """The mean over folds; NaN where no fold has one."""
    deviation: float
    """The standard deviation over folds."""
    settings: Settings | None
    """Those that are best by cross-validation over all references."""


def nested_cross_validation(
    pairs: Pairs,
    names: Sequence[str] = tuple(REGRESSORS),
    folds: int = 5,
    inner: int = 3,
    seed: int = 0,
    told: Callable[[str], None] = lambda _: None,
) -> list[Validated]:
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
    if min(folds, inner) < 2:
        raise ValueError(f"Expected `folds` and `inner` to be >= 2 but got {folds} and {inner}.")
    check_pairs(pairs, folds, inner)
    parts = list(held_out_references(pairs.group, folds, seed))
    found = [_over_folds(UNREGRESSED, [_tau(pairs.overall[test], pairs.target[test]) for _, test in parts], None)]
    for name in names:
        taus = []
        for train, test in parts:
            known = Pairs(*(column[train] for column in pairs))
            settings = choose_settings(name, known, inner, seed)
            fitted = fit_regressor(name, known.features, known.target, settings, seed)
            taus.append(_tau(fitted.predict(pairs.features[test]), pairs.target[test]))
        found.append(_over_folds(name, taus, choose_settings(name, pairs, folds, seed)))
        told(name)
    return found


def fit_best(pairs: Pairs, found: Sequence[Validated], seed: int = 0) -> tuple[Validated, Regressor]:
    """The regressor with the highest τ-b on held-out references, fitted to all; of equals the first.

    Raises:
        InputError: If none has a τ-b.
    """
    known = [entry for entry in found if entry.settings is not None and not math.isnan(entry.tau_b)]
    if not known:
        raise InputError("Expected targets that differ within held-out references: no regressor has a τ-b.")
    best = max(known, key=lambda entry: entry.tau_b)
    return best, fit_regressor(best.name, pairs.features, pairs.target, best.settings, seed)


def choose_settings(name: str, pairs: Pairs, folds: int, seed: int = 0) -> Settings:
    """The settings of a regressor with the highest τ-b over held-out references; of equals the first."""
    options = settings_of(name)
    parts = list(held_out_references(pairs.group, folds, seed + 1))
    means = [
        _over_folds(name, [_held_out(name, pairs, *part, entry, seed) for part in parts], None) for entry in options
    ]
    return options[max(range(len(options)), key=lambda place: np.nan_to_num(means[place].tau_b, nan=-2.0))]


def _held_out(name: str, pairs: Pairs, train: Array, test: Array, settings: Settings, seed: int) -> float:
    if np.ptp(pairs.target[train]) == 0:
        return math.nan
    fitted = fit_regressor(name, pairs.features[train], pairs.target[train], settings, seed)
    return _tau(fitted.predict(pairs.features[test]), pairs.target[test])


def held_out_references(group: Array, folds: int, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """Rows to fit to and rows to test on, of each fold; the rows of a reference stay together.

    >>> [test.tolist() for _, test in held_out_references(np.array([0, 0, 1, 2]), 3)]
    [[3], [0, 1], [2]]
    """
    order = np.random.default_rng(seed).permutation(np.unique(group))
    for part in np.array_split(order, folds):
        held = np.isin(group, part)
        yield np.flatnonzero(~held), np.flatnonzero(held)


def check_pairs(pairs: Pairs, folds: int, inner: int) -> None:
    """Refuse what no regressor can be fitted to.

    Raises:
        InputError: Says what was expected.
    """
    references = len(np.unique(pairs.group))
    most = max(int(entry.get("n_neighbors", 0)) for kind in REGRESSORS.values() for entry in kind.choices)
    if references < folds * inner:
        raise InputError(
            f"Expected {folds * inner} references at least, for {folds} × {inner} folds, but got {references}."
        )
    fewest = min(len(train) for train, _ in held_out_references(pairs.group, folds))
    if (left := fewest * (inner - 1) // inner) < 2 * most:
        raise InputError(
            f"Expected more than {len(pairs.target)} pairs: {left} of them are left to fit to in the innermost folds, "
            f"but {2 * most} are needed."
        )
    for name, values in (("features", pairs.features), ("targets", pairs.target)):
        if not np.isfinite(values).all():
            raise InputError(f"Expected finite {name} but row {int(np.argwhere(~np.isfinite(values))[0][0])} has none.")
    if np.ptp(pairs.target) == 0:
        raise InputError(f"Expected targets that differ but all {len(pairs.target)} are {pairs.target[0]:g}.")


def _tau(scores: Array, target: Array) -> float:
    return float(kendall_tau_b(torch.from_numpy(np.asarray(scores)), torch.from_numpy(np.asarray(target))))


def _over_folds(name: str, taus: Sequence[float], settings: Settings | None) -> Validated:
    known = [value for value in taus if not math.isnan(value)]
    if not known:
        return Validated(name, math.nan, math.nan, settings)
    return Validated(name, float(np.mean(known)), float(np.std(known)), settings)
