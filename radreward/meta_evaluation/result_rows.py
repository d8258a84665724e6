"""The figures of a bench as plain values: correlations turned so that more is more agreement, null where undefined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from radreward.meta_evaluation.preferences import Preference, preference_agreement
from radreward.meta_evaluation.rated_pairs import CRITERION, TOTALS, Target
from radreward.meta_evaluation.rated_pairs_io import RatedPairs
from radreward.meta_evaluation.scorer_runner import SIGNIFICANT, Scored
from radreward.meta_evaluation.statistics.correlations import (
    NAMES,
    Agreement,
    agreements,
    agreements_within,
    correlations,
)
from radreward.meta_evaluation.statistics.count_agreement import count_agreement
from radreward.meta_evaluation.statistics.inter_rater import between_raters
from radreward.meta_evaluation.statistics.scorer_comparisons import contests
from radreward.meta_evaluation.statistics.system_level import rank_agreement, system_differences, system_means
from radreward.statistics.cluster_bootstrap import draw_cases

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = list[dict[str, Any]]


class Table(NamedTuple):
    """Scores and targets as arrays."""

    pairs: RatedPairs
    scored: list[Scored]
    targets: list[Target]
    x: Floats
    """(S, n) scores, higher is better."""
    y: Floats
    """(T, n) targets, higher is better."""
    case: Ints
    """(n,)."""
    system: Ints
    """(n,) place among the systems, -1 for none."""
    counts: NDArray[np.integer]
    """(B, G) draws of cases."""
    seed: int

    @classmethod
    def of(cls, pairs: RatedPairs, scored: list[Scored], draws: int, seed: int) -> Self:
        """Arrays of pairs and scorers."""
        places = {name: place for place, name in enumerate(pairs.systems)}
        return cls(
            pairs,
            scored,
            list(pairs.targets),
            np.array([one.oriented for one in scored]).reshape(len(scored), len(pairs)),
            np.array([oriented(target) for target in pairs.targets]).reshape(len(pairs.targets), len(pairs)),
            pairs.cases,
            np.array([places.get(row.system or "", -1) for row in pairs.rows], dtype=np.int64),
            draw_cases(len({row.group for row in pairs.rows}), draws, seed),
            seed,
        )

    def totals(self) -> list[int]:
        """Places of the targets over all criteria."""
        return [place for place, target in enumerate(self.targets) if target.name in TOTALS]


def oriented(target: Target) -> Floats:
    """(n,) higher is better."""
    return target.values if target.higher_is_better else -target.values


def agreement_rows(table: Table) -> Rows:
    """Each scorer and target: pooled, within systems, and in each system where there are some.

    With the errors by a criterion a scorer is compared by what it says of that criterion, where it says anything.
    """
    rows = [row for part in _parts(table) for row in _scope(table, "pooled", part, _pooled(part, table))]
    if len(table.pairs.systems) < 2:
        return rows
    for part in _parts(table):
        found = agreements_within(part.x, part.y, table.case, table.system, table.counts)
        rows += _scope(table, "within", part, found)
    for place, name in enumerate(table.pairs.systems):
        inside = table.system == place
        some, where = np.unique(table.case[inside], return_inverse=True)
        part = next(iter(_parts(table)))  # of the totals
        found = agreements(part.x[:, inside], part.y[:, inside], where, table.counts[:, some])
        rows += _scope(table, f"system:{name}", part, found)
    return rows


class _Part(NamedTuple):
    """Targets that are compared with the same scores."""

    targets: list[int]
    x: Floats
    y: Floats
    own: list[bool]
    """(S,) whether the scores are those of a criterion."""


def _parts(table: Table) -> Iterator[_Part]:
    totals = table.totals()
    yield _Part(totals, table.x, table.y[totals], [False] * len(table.scored))
    for place, target in enumerate(table.targets):
        if place not in totals:
            own = [one.of_criterion(target.name.removeprefix(CRITERION)) for one in table.scored]
            x = [total if found is None else found for total, found in zip(table.x, own, strict=True)]
            yield _Part(
                [place], np.array(x).reshape(table.x.shape), table.y[[place]], [found is not None for found in own]
            )


def _pooled(part: _Part, table: Table) -> list[list[Agreement]]:
    return agreements(part.x, part.y, table.case, table.counts)


def _scope(table: Table, scope: str, part: _Part, found: list[list[Agreement]]) -> Rows:
    return [
        {
            "scorer": one.name,
            "target": table.targets[place].name,
            "scope": scope,
            "of": "criterion" if own else "total",
            "n": value.n,
            "cases": value.cases,
            **{name: _plain(getattr(value, name)) for name in NAMES},
            "note": value.note,
        }
        for one, own, values in zip(table.scored, part.own, found, strict=True)
        for place, value in zip(part.targets, values, strict=True)
    ]


def rater_rows(table: Table) -> Rows:
    """Raters with each other, by target."""
    return [
        {"target": target.name, **_plain(found)}
        for target in table.targets
        for found in between_raters(target.by_rater, target.raters)
    ]


def paired_rows(table: Table) -> Rows:
    """Every two scorers, by the targets over all criteria."""
    totals = table.totals()
    return [
        {
            "target": table.targets[totals[found.target]].name,
            "one": table.scored[found.one].name,
            "other": table.scored[found.other].name,
            **{name: value for name, value in _plain(found).items() if name not in ("target", "one", "other")},
        }
        for found in contests(table.x, table.y[totals], table.case, table.counts, table.seed)
    ]


def scorer_matrix(table: Table) -> dict[str, Any]:
    """τ-b between scorers."""
    taus = [[number(correlations(one, other)["tau_b"].value) for other in table.x] for one in table.x]
    return {"names": [one.name for one in table.scored], "tau_b": taus}


def system_rows(table: Table) -> Rows:
    """Mean of each system by each scorer, in the scorer's own direction."""
    return [
        {"scorer": one.name, **_plain(found)}
        for one in table.scored
        for found in system_means(one.totals, table.case, table.system, table.pairs.systems, table.counts)
    ]


def system_pair_rows(table: Table) -> Rows:
    """Every two systems by each scorer, in the scorer's own direction."""
    return [
        {"scorer": one.name, **_plain(found)}
        for one in table.scored
        for found in system_differences(
            one.totals, table.case, table.system, table.pairs.systems, table.counts, table.seed
        )
    ]


def system_rank_rows(table: Table) -> Rows:
    """Whether scorers put systems in the order in which people do."""
    if len(table.pairs.systems) < 2:
        return []

    def means(values: Floats) -> Floats:
        names, none = table.pairs.systems, table.counts[:0]
        return np.array([found.mean for found in system_means(values, table.case, table.system, names, none)])

    rows: Rows = []
    for one, scores in zip(table.scored, table.x, strict=True):
        for target, values in zip(table.targets, table.y, strict=True):
            known = np.where(np.isnan(scores) | np.isnan(values), np.nan, 1.0)  # both means are of the same rows
            tau, systems = rank_agreement(means(scores * known), means(values * known))
            rows.append({"scorer": one.name, "target": target.name, "tau_b": number(tau), "n": systems})
    return rows


def count_rows(table: Table) -> Rows:
    """Errors that scorers count, by criterion and in all, against the mean rater's."""
    rows: Rows = []
    for one in table.scored:
        for name, known, columns in _counted(table.pairs, one):
            found = count_agreement(columns, known)
            if found.n:
                rows.append({"scorer": one.name, "criterion": name, **_plain(found)})
    return rows


def _counted(pairs: RatedPairs, one: Scored) -> list[tuple[str, Floats, Floats]]:
    """Criterion, errors by people, and errors by the scorer, (n,) each; only where both count the same."""
    if one.counts is None:
        return []
    found = []
    for significant, target in ((False, "errors"), (True, "errors_significant")):
        columns = {}
        for tag in pairs.criteria:
            if (column := one.counted(tag, significant)) is not None:
                columns[tag] = column
                found.append((f"{SIGNIFICANT if significant else ''}{tag}", pairs.counts(tag, significant), column))
        totals = [entry.values for entry in pairs.targets if entry.name == target]
        if totals and columns and len(columns) == len(pairs.criteria):
            found.append((target, totals[0], np.sum(list(columns.values()), 0)))
    return found


def preference_rows(entries: Sequence[Preference], scored: Sequence[Scored], draws: int, seed: int) -> Rows:
    """How often scorers prefer what people prefer, in all and by confidence."""
    half = len(entries)
    return [
        {"scorer": one.name, **_plain(found), "confidence": list(found.confidence) if found.confidence else "all"}
        for one in scored
        for found in preference_agreement(entries, one.oriented[:half], one.oriented[half:], draws, seed)
    ]


SECTIONS: dict[str, Callable[[Table], Any]] = {
    "agreement": agreement_rows,
    "inter_rater": rater_rows,
    "paired": paired_rows,
    "between_scorers": scorer_matrix,
    "systems": system_rows,
    "system_pairs": system_pair_rows,
    "system_ranks": system_rank_rows,
    "counts": count_rows,
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


def scorer_row(one: Scored) -> dict[str, Any]:
    """What became of a scorer."""
    return {
        "name": one.name,
        "title": one.title,
        "higher_is_better": one.higher_is_better,
        "range": list(one.range),
        "status": "ok" if one.reason is None else "failed",
        "reason": one.reason,
        "scored": int((~np.isnan(one.totals)).sum()),
        "unscored": one.unscored,
        "computed": one.computed,
        "cached": one.cached,
        "seconds": round(one.seconds, 3),
        "sub_names": list(one.sub_names),
    }


def number(value: float) -> float | None:
    """A number as JSON has it."""
    return float(value) if math.isfinite(value) else None


def _plain(found: Any) -> dict[str, Any]:
    """The fields of a named tuple, a number that is not finite as null."""
    return {name: number(value) if isinstance(value, float) else value for name, value in found._asdict().items()}
