"""The figures of a bench as plain values: correlations turned so that more is more agreement, null where undefined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from radreward.meta_evaluation.preferences import Preference, preference_agreement
from radreward.meta_evaluation.rated_pairs import CRITERION_PREFIX, TOTAL_TARGETS, Target
from radreward.meta_evaluation.rated_pairs_io import RatedPairs
from radreward.meta_evaluation.scorer_runner import SIGNIFICANT_PREFIX, ScorerRun
from radreward.meta_evaluation.statistics.correlations import (
    CORRELATIONS,
    TargetAgreement,
    correlate_all,
    correlate_within_systems,
    correlations,
)
from radreward.meta_evaluation.statistics.count_agreement import count_agreement
from radreward.meta_evaluation.statistics.inter_rater import inter_rater_agreement
from radreward.meta_evaluation.statistics.scorer_comparisons import compare_scorers
from radreward.meta_evaluation.statistics.system_level import system_differences, system_means, system_rank_agreement
from radreward.statistics.cluster_bootstrap import resample_clusters

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = list[dict[str, Any]]


class BenchmarkArrays(NamedTuple):
    """Scores and targets as arrays."""

    pairs: RatedPairs
    scorer_runs: list[ScorerRun]
    targets: list[Target]
    x: Floats
    """(S, n) scores, higher is better."""
    y: Floats
    """(T, n) targets, higher is better."""
    cluster_ids: Ints
    """(n,)."""
    system_ids: Ints
    """(n,) place among the systems, -1 for none."""
    resample_counts: NDArray[np.integer]
    """(B, G) draws of cases."""
    seed: int

    @classmethod
    def from_pairs(cls, pairs: RatedPairs, scorer_runs: list[ScorerRun], n_resamples: int, seed: int) -> Self:
        """Arrays of pairs and scorers."""
        places = {name: place for place, name in enumerate(pairs.systems)}
        return cls(
            pairs,
            scorer_runs,
            list(pairs.targets),
            np.array([one.higher_is_better_totals for one in scorer_runs]).reshape(len(scorer_runs), len(pairs)),
            np.array([higher_is_better_values(target) for target in pairs.targets]).reshape(
                len(pairs.targets), len(pairs)
            ),
            pairs.cluster_ids,
            np.array([places.get(row.system or "", -1) for row in pairs.rows], dtype=np.int64),
            resample_clusters(len({row.group for row in pairs.rows}), n_resamples, seed),
            seed,
        )

    def total_indices(self) -> list[int]:
        """Places of the targets over all criteria."""
        return [place for place, target in enumerate(self.targets) if target.name in TOTAL_TARGETS]


def higher_is_better_values(target: Target) -> Floats:
    """(n,) higher is better."""
    return target.values if target.higher_is_better else -target.values


def agreement_rows(arrays: BenchmarkArrays) -> Rows:
    """Each scorer and target: pooled, within systems, and in each system where there are some.

    With the errors by a criterion a scorer is compared by what it says of that criterion, where it says anything.
    """
    rows = [
        row for part in _target_blocks(arrays) for row in _scope_rows(arrays, "pooled", part, _pooled(part, arrays))
    ]
    if len(arrays.pairs.systems) < 2:
        return rows
    for part in _target_blocks(arrays):
        found = correlate_within_systems(part.x, part.y, arrays.cluster_ids, arrays.system_ids, arrays.resample_counts)
        rows += _scope_rows(arrays, "within", part, found)
    for place, name in enumerate(arrays.pairs.systems):
        inside = arrays.system_ids == place
        some, where = np.unique(arrays.cluster_ids[inside], return_inverse=True)
        part = next(iter(_target_blocks(arrays)))  # of the totals
        found = correlate_all(part.x[:, inside], part.y[:, inside], where, arrays.resample_counts[:, some])
        rows += _scope_rows(arrays, f"system:{name}", part, found)
    return rows


class _TargetBlock(NamedTuple):
    """Targets that are compared with the same scores."""

    targets: list[int]
    x: Floats
    y: Floats
    uses_criterion: list[bool]
    """(S,) whether the scores are those of a criterion."""


def _target_blocks(arrays: BenchmarkArrays) -> Iterator[_TargetBlock]:
    totals = arrays.total_indices()
    yield _TargetBlock(totals, arrays.x, arrays.y[totals], [False] * len(arrays.scorer_runs))
    for place, target in enumerate(arrays.targets):
        if place not in totals:
            own = [one.criterion_scores(target.name.removeprefix(CRITERION_PREFIX)) for one in arrays.scorer_runs]
            x = [total if found is None else found for total, found in zip(arrays.x, own, strict=True)]
            yield _TargetBlock(
                [place], np.array(x).reshape(arrays.x.shape), arrays.y[[place]], [found is not None for found in own]
            )


def _pooled(block: _TargetBlock, arrays: BenchmarkArrays) -> list[list[TargetAgreement]]:
    return correlate_all(block.x, block.y, arrays.cluster_ids, arrays.resample_counts)


def _scope_rows(
    arrays: BenchmarkArrays, scope: str, block: _TargetBlock, agreements: list[list[TargetAgreement]]
) -> Rows:
    return [
        {
            "scorer": one.name,
            "target": arrays.targets[place].name,
            "scope": scope,
            "of": "criterion" if own else "total",
            "n": value.n,
            "cases": value.n_clusters,
            **{name: _to_row(getattr(value, name)) for name in CORRELATIONS},
            "note": value.note,
        }
        for one, own, values in zip(arrays.scorer_runs, block.uses_criterion, agreements, strict=True)
        for place, value in zip(block.targets, values, strict=True)
    ]


def inter_rater_rows(arrays: BenchmarkArrays) -> Rows:
    """Raters with each other, by target."""
    return [
        {"target": target.name, **_to_row(found)}
        for target in arrays.targets
        for found in inter_rater_agreement(target.by_rater, target.raters)
    ]


def comparison_rows(arrays: BenchmarkArrays) -> Rows:
    """Every two scorers, by the targets over all criteria."""
    totals = arrays.total_indices()
    return [
        {
            "target": arrays.targets[totals[found.target]].name,
            "one": arrays.scorer_runs[found.scorer_a].name,
            "other": arrays.scorer_runs[found.scorer_b].name,
            **{name: value for name, value in _to_row(found).items() if name not in ("target", "one", "other")},
        }
        for found in compare_scorers(
            arrays.x, arrays.y[totals], arrays.cluster_ids, arrays.resample_counts, arrays.seed
        )
    ]


def scorer_correlations(arrays: BenchmarkArrays) -> dict[str, Any]:
    """τ-b between scorers."""
    taus = [[finite_or_none(correlations(one, other)["tau_b"].value) for other in arrays.x] for one in arrays.x]
    return {"names": [one.name for one in arrays.scorer_runs], "tau_b": taus}


def system_mean_rows(arrays: BenchmarkArrays) -> Rows:
    """Mean of each system by each scorer, in the scorer's own direction."""
    return [
        {"scorer": one.name, **_to_row(found)}
        for one in arrays.scorer_runs
        for found in system_means(
            one.totals, arrays.cluster_ids, arrays.system_ids, arrays.pairs.systems, arrays.resample_counts
        )
    ]


def system_difference_rows(arrays: BenchmarkArrays) -> Rows:
    """Every two systems by each scorer, in the scorer's own direction."""
    return [
        {"scorer": one.name, **_to_row(found)}
        for one in arrays.scorer_runs
        for found in system_differences(
            one.totals, arrays.cluster_ids, arrays.system_ids, arrays.pairs.systems, arrays.resample_counts, arrays.seed
        )
    ]


def system_rank_rows(arrays: BenchmarkArrays) -> Rows:
    """Whether scorers put systems in the order in which people do."""
    if len(arrays.pairs.systems) < 2:
        return []

    def means(values: Floats) -> Floats:
        names, none = arrays.pairs.systems, arrays.resample_counts[:0]
        return np.array(
            [found.mean for found in system_means(values, arrays.cluster_ids, arrays.system_ids, names, none)]
        )

    rows: Rows = []
    for one, scores in zip(arrays.scorer_runs, arrays.x, strict=True):
        for target, values in zip(arrays.targets, arrays.y, strict=True):
            known = np.where(np.isnan(scores) | np.isnan(values), np.nan, 1.0)  # both means are of the same rows
            tau, systems = system_rank_agreement(means(scores * known), means(values * known))
            rows.append({"scorer": one.name, "target": target.name, "tau_b": finite_or_none(tau), "n": systems})
    return rows


def count_agreement_rows(arrays: BenchmarkArrays) -> Rows:
    """Errors that scorers count, by criterion and in all, against the mean rater's."""
    rows: Rows = []
    for one in arrays.scorer_runs:
        for name, known, columns in _paired_counts(arrays.pairs, one):
            found = count_agreement(columns, known)
            if found.n:
                rows.append({"scorer": one.name, "criterion": name, **_to_row(found)})
    return rows


def _paired_counts(pairs: RatedPairs, one: ScorerRun) -> list[tuple[str, Floats, Floats]]:
    """Criterion, errors by people, and errors by the scorer, (n,) each; only where both count the same."""
    if one.error_counts is None:
        return []
    found = []
    for significant, target in ((False, "errors"), (True, "errors_significant")):
        columns = {}
        for tag in pairs.criteria:
            if (column := one.criterion_errors(tag, significant)) is not None:
                columns[tag] = column
                found.append(
                    (f"{SIGNIFICANT_PREFIX if significant else ''}{tag}", pairs.mean_errors(tag, significant), column)
                )
        totals = [entry.values for entry in pairs.targets if entry.name == target]
        if totals and columns and len(columns) == len(pairs.criteria):
            found.append((target, totals[0], np.sum(list(columns.values()), 0)))
    return found


def preference_rows(
    preferences: Sequence[Preference], scorer_runs: Sequence[ScorerRun], n_resamples: int, seed: int
) -> Rows:
    """How often scorers prefer what people prefer, in all and by confidence."""
    half = len(preferences)
    return [
        {"scorer": one.name, **_to_row(found), "confidence": list(found.confidence) if found.confidence else "all"}
        for one in scorer_runs
        for found in preference_agreement(
            preferences, one.higher_is_better_totals[:half], one.higher_is_better_totals[half:], n_resamples, seed
        )
    ]


SECTIONS: dict[str, Callable[[BenchmarkArrays], Any]] = {
    "agreement": agreement_rows,
    "inter_rater": inter_rater_rows,
    "paired": comparison_rows,
    "between_scorers": scorer_correlations,
    "systems": system_mean_rows,
    "system_pairs": system_difference_rows,
    "system_ranks": system_rank_rows,
    "counts": count_agreement_rows,
}
"""What makes each part of the results."""


def target_row(target: Target) -> dict[str, Any]:
    """What is to be known of a target."""
    return {
        "name": target.name,
        "title": target.title,
        "higher_is_better": target.higher_is_better,
        "pairs": int((~np.isnan(target.values)).sum()),
        "notes": list(target.notes),
    }


def scorer_row(one: ScorerRun) -> dict[str, Any]:
    """What became of a scorer."""
    return {
        "name": one.name,
        "title": one.title,
        "higher_is_better": one.higher_is_better,
        "range": list(one.total_range),
        "status": "ok" if one.failure is None else "failed",
        "reason": one.failure,
        "scored": int((~np.isnan(one.totals)).sum()),
        "unscored": one.unscored_reasons,
        "computed": one.num_computed,
        "cached": one.num_cached,
        "seconds": round(one.seconds, 3),
        "sub_names": list(one.sub_names),
    }


def finite_or_none(value: float) -> float | None:
    """A number as JSON has it."""
    return float(value) if math.isfinite(value) else None


def _to_row(found: Any) -> dict[str, Any]:
    """The fields of a named tuple, a number that is not finite as null."""
    return {
        name: finite_or_none(value) if isinstance(value, float) else value for name, value in found._asdict().items()
    }
