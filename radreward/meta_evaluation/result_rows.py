"""Sections of `results.json`: statistics as rows of JSON values; undefined values are null."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from radreward.io.numbers import finite_or_none
from radreward.meta_evaluation.preferences import Preference, preference_agreement
from radreward.meta_evaluation.rated_pairs import CRITERION_PREFIX, TOTAL_TARGETS, RatedPairs, Target
from radreward.meta_evaluation.score_cache import to_jsonable
from radreward.meta_evaluation.scorer_runner import SIGNIFICANT_PREFIX, ScorerRun
from radreward.meta_evaluation.statistics.correlations import (
    TargetAgreement,
    correlate_all,
    correlate_within_systems,
    correlations,
)
from radreward.meta_evaluation.statistics.count_agreement import count_agreement
from radreward.meta_evaluation.statistics.error_detection import error_detection
from radreward.meta_evaluation.statistics.inter_rater import inter_rater_agreement
from radreward.meta_evaluation.statistics.scorer_comparisons import compare_scorers
from radreward.meta_evaluation.statistics.system_level import (
    system_differences,
    system_means,
    system_rank_agreement,
)
from radreward.statistics.cluster_bootstrap import resample_clusters
from radreward.statistics.paired_tests import smallest_p_value

MAX_P_VALUE = 0.05
"""Differences with a larger p-value are not significant."""
MIN_ORDERED_SYSTEMS = 3
"""The order of two systems agrees or does not: its τ-b is 1 or -1."""
RESULTS_FORMAT = 2
"""Format of `results.json`."""
Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]


class BenchmarkArrays:
    """Scores and targets of n pairs as arrays, oriented so that higher is better.

    Args:
        pairs: The rated pairs.
        scorer_runs: S runs.
        n_resamples: Bootstrap resamples of cases.
        seed: Seed of bootstrap and permutations.
        n_permutations: Maximum number of permutations per comparison of two scorers.

    Attributes:
        x: (S, n) scores.
        y: (T, n) targets.
        resample_counts: (B, G) bootstrap resamples of cases.
        totals: Indices of the targets over all criteria.
    """

    def __init__(
        self, pairs: RatedPairs, scorer_runs: Sequence[ScorerRun], n_resamples: int, seed: int, n_permutations: int
    ) -> None:
        self.pairs = pairs
        self.scorer_runs = scorer_runs
        self.seed = seed
        self.n_permutations = n_permutations
        scores = [run.higher_is_better_totals for run in scorer_runs]
        values = [target.values if target.higher_is_better else -target.values for target in pairs.targets]
        self.x = np.array(scores).reshape(len(scores), len(pairs))
        self.y = np.array(values).reshape(len(values), len(pairs))
        self.resample_counts = resample_clusters(pairs.num_clusters, n_resamples, seed)
        self.totals = [index for index, target in enumerate(pairs.targets) if target.name in TOTAL_TARGETS]


class _TargetBlock(NamedTuple):
    """Targets compared with the same scores."""

    targets: list[int]
    x: Floats
    """(S, n)."""
    y: Floats
    """(targets, n)."""
    uses_criterion: list[bool]
    """(S,) True if the scores are scores of a criterion."""


def _agreement_rows(arrays: BenchmarkArrays) -> Rows:
    """Return the agreement of each scorer with each target: over all pairs, within systems, and in each system.

    The target of one criterion is compared with the scorer's score for this criterion if there is one, otherwise with
    its total.
    """
    blocks = list(_target_blocks(arrays))
    clusters, counts = arrays.pairs.cluster_ids, arrays.resample_counts
    rows = []
    for block in blocks:
        rows += _scope_rows(arrays, "pooled", block, correlate_all(block.x, block.y, clusters, counts))
    if len(arrays.pairs.systems) < 2:
        return rows
    for block in blocks:
        agreements = correlate_within_systems(block.x, block.y, clusters, arrays.pairs.system_ids, counts)
        rows += _scope_rows(arrays, "within", block, agreements)
    totals = blocks[0]
    for index, name in enumerate(arrays.pairs.systems):
        selected = arrays.pairs.system_ids == index
        present, cluster = np.unique(clusters[selected], return_inverse=True)
        agreements = correlate_all(totals.x[:, selected], totals.y[:, selected], cluster, counts[:, present])
        rows += _scope_rows(arrays, f"system:{name}", totals, agreements)
    return rows


def _target_blocks(arrays: BenchmarkArrays) -> Iterator[_TargetBlock]:
    """Yield the targets over all criteria, then one block per criterion."""
    totals = arrays.totals
    yield _TargetBlock(totals, arrays.x, arrays.y[totals], [False] * len(arrays.scorer_runs))
    for index, target in enumerate(arrays.pairs.targets):
        if index not in totals:
            tag = target.name.removeprefix(CRITERION_PREFIX)
            scores = [run.criterion_scores(tag) for run in arrays.scorer_runs]
            x = [total if score is None else score for total, score in zip(arrays.x, scores, strict=True)]
            uses_criterion = [score is not None for score in scores]
            yield _TargetBlock([index], np.array(x).reshape(arrays.x.shape), arrays.y[[index]], uses_criterion)


def _scope_rows(
    arrays: BenchmarkArrays, scope: str, block: _TargetBlock, agreements: list[list[TargetAgreement]]
) -> Rows:
    return [
        {
            "scorer": run.name,
            "target": arrays.pairs.targets[index].name,
            "scope": scope,
            "score_source": "criterion" if uses_criterion else "total",
            **to_jsonable(agreement),
            **_rounded_agreement(run, arrays.y[index], scope),
        }
        for run, uses_criterion, by_target in zip(arrays.scorer_runs, block.uses_criterion, agreements, strict=True)
        for index, agreement in zip(block.targets, by_target, strict=True)
    ]


def _rounded_agreement(run: ScorerRun, target: Floats, scope: str) -> dict[str, float | None]:
    """Return the τ-b of a number of errors that is rounded as raters count; nothing for other outputs and scopes.

    A rounded number ties where raters tie, which raises τ-b: it is stated only beside the τ-b of the number itself.
    """
    if run.output != "errors" or scope != "pooled":
        return {}
    rounded = np.round(run.higher_is_better_totals)
    return {"tau_b_rounded": finite_or_none(correlations(rounded, target)["tau_b"].value)}


def _inter_rater_rows(arrays: BenchmarkArrays) -> Rows:
    """Return the agreement of raters with each other: by target, and on the significant errors of each criterion."""
    return [
        {"target": target.name, "title": target.title, **to_jsonable(agreement)}
        for target in (*arrays.pairs.targets, *arrays.pairs.significant_targets)
        for agreement in inter_rater_agreement(target.by_rater, target.raters)
    ]


def _comparison_rows(arrays: BenchmarkArrays) -> Rows:
    """Return the comparison of every two scorers on each target over all criteria."""
    totals = arrays.totals
    comparisons = compare_scorers(
        arrays.x, arrays.y[totals], arrays.pairs.cluster_ids, arrays.resample_counts, arrays.seed, arrays.n_permutations
    )
    return [
        {
            **to_jsonable(comparison),
            "target": arrays.pairs.targets[totals[comparison.target]].name,
            "scorer_a": arrays.scorer_runs[comparison.scorer_a].name,
            "scorer_b": arrays.scorer_runs[comparison.scorer_b].name,
        }
        for comparison in comparisons
    ]


def scorer_correlations(arrays: BenchmarkArrays) -> dict[str, Any]:
    """Return the matrix of τ-b between scorers."""
    matrix = [[finite_or_none(correlations(a, b)["tau_b"].value) for b in arrays.x] for a in arrays.x]
    return {"names": [run.name for run in arrays.scorer_runs], "tau_b": matrix}


def _system_mean_rows(arrays: BenchmarkArrays) -> Rows:
    """Return the mean score of each system by each scorer that may be averaged, in the scorer's own direction."""
    systems = arrays.pairs.cluster_ids, arrays.pairs.system_ids, arrays.pairs.systems, arrays.resample_counts
    return [
        {"scorer": run.name, **to_jsonable(mean)}
        for run in arrays.scorer_runs
        if run.may_be_averaged
        for mean in system_means(run.totals, *systems)
    ]


def _system_difference_rows(arrays: BenchmarkArrays) -> Rows:
    """Return the difference of every two systems by each scorer, in the scorer's own direction."""
    systems = arrays.pairs.cluster_ids, arrays.pairs.system_ids, arrays.pairs.systems, arrays.resample_counts
    return [
        {"scorer": run.name, **to_jsonable(difference)}
        for run in arrays.scorer_runs
        for difference in system_differences(run.totals, *systems, arrays.seed)
    ]


def _system_rank_rows(arrays: BenchmarkArrays) -> Rows:
    """Return the rank correlation between systems ordered by scorers and by raters; none for two systems."""
    pairs, no_resamples = arrays.pairs, arrays.resample_counts[:0]
    if len(pairs.systems) < MIN_ORDERED_SYSTEMS:
        return []

    def means(values: Floats) -> Floats:
        entries = system_means(values, pairs.cluster_ids, pairs.system_ids, pairs.systems, no_resamples)
        return np.array([entry.mean for entry in entries])

    rows: Rows = []
    for run, scores in zip(arrays.scorer_runs, arrays.x, strict=True):
        for target, values in zip(pairs.targets, arrays.y, strict=True):
            common = np.where(np.isnan(scores) | np.isnan(values), np.nan, 1.0)  # both means use the same pairs
            tau, n_systems = system_rank_agreement(means(scores * common), means(values * common))
            if n_systems < MIN_ORDERED_SYSTEMS:
                continue
            rows.append({"scorer": run.name, "target": target.name, "tau_b": finite_or_none(tau), "n": n_systems})
    return rows


def _count_agreement_rows(arrays: BenchmarkArrays) -> Rows:
    """Return the agreement of the scorers' error counts with the mean rater's, per criterion and in total."""
    rows: Rows = []
    for run in arrays.scorer_runs:
        for criterion, target, predicted in _paired_counts(arrays.pairs, run):
            agreement = count_agreement(predicted, target)
            if agreement.n:
                rows.append({"scorer": run.name, "criterion": criterion, **to_jsonable(agreement)})
    return rows


def _rater_count_rows(arrays: BenchmarkArrays) -> Rows:
    """Return the agreement of the scorers' total error counts with those of each rater; none for one rater."""
    rows: Rows = []
    for run in arrays.scorer_runs:
        totals = {name: predicted for name, _, predicted in _paired_counts(arrays.pairs, run) if name in TOTAL_TARGETS}
        for target in arrays.pairs.targets:
            if target.name not in totals or len(target.raters) < 2:
                continue
            for rater, counts in zip(target.raters, target.by_rater, strict=True):
                agreement = count_agreement(totals[target.name], counts)
                row = {"scorer": run.name, "criterion": target.name, "rater": rater, **to_jsonable(agreement)}
                rows.append({name: value for name, value in row.items() if name != "calibration"})
    return rows


def _paired_counts(pairs: RatedPairs, run: ScorerRun) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield criterion, (n,) errors by the raters and (n,) errors by the scorer for each criterion that both count."""
    totals: dict[str, tuple[Floats, Floats]] = {}
    for significant_only, total in ((False, "errors"), (True, "errors_significant")):
        predicted = {tag: run.criterion_errors(tag, significant_only) for tag in pairs.criteria}
        counted = {tag: counts for tag, counts in predicted.items() if counts is not None}
        for tag, counts in counted.items():
            name = f"{SIGNIFICANT_PREFIX if significant_only else ''}{tag}"
            yield name, pairs.mean_errors(tag, significant_only), counts
        for target in pairs.targets:
            if target.name == total and counted and len(counted) == len(pairs.criteria):
                totals[total] = target.values, np.sum(list(counted.values()), 0)
                yield total, *totals[total]
    if len(totals) == 2:
        (all_rated, all_predicted), (rated, predicted_total) = totals.values()
        yield "errors_insignificant", all_rated - rated, all_predicted - predicted_total


def _error_detection_rows(arrays: BenchmarkArrays) -> Rows:
    """Return the area under the ROC curve of each scorer for each target of errors; see `_agreement_rows` on scores."""
    return [
        {
            "scorer": run.name,
            "target": arrays.pairs.targets[index].name,
            "score_source": "criterion" if uses_criterion else "total",
            **to_jsonable(error_detection(x, -y, arrays.pairs.cluster_ids, arrays.resample_counts)),
        }
        for block in _target_blocks(arrays)
        for index, y in zip(block.targets, block.y, strict=True)
        if not arrays.pairs.targets[index].higher_is_better
        for run, x, uses_criterion in zip(arrays.scorer_runs, block.x, block.uses_criterion, strict=True)
    ]


def preference_rows(
    preferences: Sequence[Preference], scores: Mapping[str, Sequence[Floats]], n_resamples: int, seed: int
) -> Rows:
    """Return the accuracy of scorers on preferences, in total and per band of confidence.

    Args:
        preferences: n preferences.
        scores: Name of each scorer → (n,) scores of the first candidates and (n,) of the second ones.
        n_resamples: Bootstrap resamples of cases.
        seed: Seed of the bootstrap.
    """
    rows = []
    for name, (scores_a, scores_b) in scores.items():
        for agreement in preference_agreement(preferences, scores_a, scores_b, n_resamples, seed):
            confidence = "all" if agreement.confidence is None else list(agreement.confidence)
            rows.append({"scorer": name, **to_jsonable(agreement), "confidence": confidence})
    return rows


SECTIONS: dict[str, Callable[[BenchmarkArrays], Any]] = {
    "agreement": _agreement_rows,
    "inter_rater": _inter_rater_rows,
    "scorer_comparisons": _comparison_rows,
    "scorer_correlations": scorer_correlations,
    "system_means": _system_mean_rows,
    "system_differences": _system_difference_rows,
    "system_rank_agreement": _system_rank_rows,
    "count_agreement": _count_agreement_rows,
    "rater_count_agreement": _rater_count_rows,
    "error_detection": _error_detection_rows,
}
"""Name of each section of the results → function that computes it."""


def target_row(target: Target, comparisons: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the description of a target.

    Args:
        target: The target.
        comparisons: Section `scorer_comparisons`; those with this target determine `power_note`.
    """
    return {
        "name": target.name,
        "title": target.title,
        "higher_is_better": target.higher_is_better,
        "pairs": int((~np.isnan(target.values)).sum()),
        "notes": list(target.notes),
        "power_note": _power_note([row for row in comparisons if row["target"] == target.name]),
    }


def _power_note(comparisons: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a note if there are too few cases for any comparison of scorers to be significant, else None."""
    tested = [row for row in comparisons if row["p_permutation"] is not None]
    if not tested:
        return None
    num_cases = max(row["n_clusters"] for row in tested)
    p = smallest_p_value(num_cases)
    corrected = min(1.0, p * len(tested))
    if corrected <= MAX_P_VALUE:
        return None
    correction = (
        f" with Holm's correction for {len(tested)} comparisons" if len(tested) > 1 and p <= MAX_P_VALUE else ""
    )
    smallest = corrected if correction else p
    cases = f"{num_cases} case{'s' * (num_cases != 1)}"
    return f"{cases} cannot show a difference (the smallest possible p is {smallest:.3g}{correction})"


def scorer_row(run: ScorerRun) -> dict[str, Any]:
    """Return the description of a scorer and its run."""
    return {
        "name": run.name,
        "scorer": run.scorer,
        "output": run.output,
        "title": run.title,
        "higher_is_better": run.higher_is_better,
        "range": list(run.total_range),
        "status": "ok" if run.failure is None else "failed",
        "failure": run.failure,
        "num_scored": int((~np.isnan(run.totals)).sum()),
        "unscored_reasons": run.unscored_reasons,
        "seconds": round(run.seconds, 3),
        "sub_names": list(run.sub_names),
    }
