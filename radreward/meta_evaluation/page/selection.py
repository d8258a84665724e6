"""Select the rows shown on the page: a sample of points, and the pairs on which scorers and raters differ most."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from radreward.io.pages.json_script import json_for_script
from radreward.io.spool import Spool

Floats = NDArray[np.float64]

MAX_POINTS = 2_000
"""Maximum number of points in a scatter plot; a larger set is sampled with a fixed seed."""
MAX_DISAGREEMENTS = 20
"""Maximum number of pairs with their reports, per scorer and target."""
MAX_TEXT_BYTES = 2_000_000
"""Maximum size of all these pairs in the file. If there are more, pairs of the first target take precedence, then the
largest disagreements with the other targets."""
_PAIR_FIELDS = ("id", "group", "system", "reference", "candidate")
_DETAIL_FIELDS = ("sub_scores", "error_counts", "evidence")


class PageColumns(NamedTuple):
    """Scorers and targets to use: name → True if higher is better."""

    scorers: Mapping[str, bool]
    targets: Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SpooledRows:
    """All rows in a temporary file, and their (n, S) scores and (n, T) targets as arrays, NaN if missing."""

    rows: Sequence[Mapping[str, Any]]
    systems: Sequence[str]
    scores: Floats
    targets: Floats


def select_page_rows(rows: Iterable[Mapping[str, Any]], columns: PageColumns) -> dict[str, Any]:
    """Read all rows once and select the content of the page. Texts are read from a temporary file one by one.

    The rank of a pair by a scorer or a target is the share of worse pairs (ties count half), from 0 for the worst pair
    to 1 for the best. The disagreement is the scorer's rank minus the raters' rank: it is positive if the scorer
    overrates the pair.

    Args:
        rows: One row per pair, as in `rows.jsonl`.
        columns: The scorers and targets to use.

    Returns:
        `points`, column by column, and `disagreements`: `pairs`, and per scorer and target `top`, a list of [index of
        the pair, rank by the scorer, rank by the raters], and `num_compared`, the number of pairs with both ranks.

    >>> row = {"reference": "Clear.", "candidate": "Clear.", "system": None}
    >>> rows = [{**row, "id": str(n), "targets": {"errors": n}, "scores": {"x": s}} for n, s in enumerate([5, 7, 6])]
    >>> selected = select_page_rows(rows, PageColumns({"x": True}, {"errors": False}))
    >>> selected["disagreements"]["top"][0][0][0]  # the first pair has no errors and the lowest score
    (0, 0.1667, 0.8333)
    """
    spooled = _spool_rows(rows, columns)
    scorer_ranks = _percentile_ranks(spooled.scores, list(columns.scorers.values()))
    rater_ranks = _percentile_ranks(spooled.targets, list(columns.targets.values()))
    return {
        "points": _select_points(spooled),
        "disagreements": _select_disagreements(spooled, columns, scorer_ranks, rater_ranks),
    }


def _spool_rows(rows: Iterable[Mapping[str, Any]], columns: PageColumns) -> _SpooledRows:
    systems: set[str] = set()
    numbers = {"scores": array("d"), "targets": array("d")}

    def collect(row: Mapping[str, Any]) -> Mapping[str, Any]:
        systems.update(filter(None, [row.get("system")]))
        for name, wanted in (("scores", columns.scorers), ("targets", columns.targets)):
            values = (row[name].get(column) for column in wanted)
            numbers[name].extend(math.nan if value is None else value for value in values)
        return row

    spool = Spool(map(collect, rows), dict, dict)
    return _SpooledRows(
        rows=spool,
        systems=sorted(systems),
        scores=np.array(numbers["scores"]).reshape(len(spool), len(columns.scorers)),
        targets=np.array(numbers["targets"]).reshape(len(spool), len(columns.targets)),
    )


def _percentile_ranks(values: Floats, higher_is_better: Sequence[bool]) -> Floats:
    """Return (n, M) ranks from 0 for the worst to 1 for the best of (n, M) values; NaN stays NaN."""
    oriented = values * np.where(higher_is_better, 1.0, -1.0)
    counts = np.maximum(1, np.sum(~np.isnan(values), axis=0))
    ranks: Floats = (rankdata(oriented, axis=0, nan_policy="omit") - 0.5) / counts
    return ranks


def _select_points(rows: _SpooledRows) -> dict[str, Any]:
    total = len(rows.rows)
    selected = list(range(total))
    if total > MAX_POINTS:  # a random sample: every k-th row could be of the same system
        selected = sorted(np.random.default_rng(0).choice(total, MAX_POINTS, replace=False).tolist())
    system_index = {system: index for index, system in enumerate(rows.systems)}
    names = [(row["id"], row.get("system")) for row in (rows.rows[index] for index in selected)]
    return {
        "total": total,
        "ids": [name for name, _ in names],
        "systems": list(rows.systems),
        "system_index": [system_index.get(system or "") for _, system in names],
        "scores": [_to_list(column) for column in rows.scores[selected].T],
        "targets": [_to_list(column) for column in rows.targets[selected].T],
    }


def _select_disagreements(
    rows: _SpooledRows, columns: PageColumns, scorer_ranks: Floats, rater_ranks: Floats
) -> dict[str, Any]:
    scorers = list(columns.scorers)
    shape = (scorer_ranks.shape[1], rater_ranks.shape[1])
    num_compared = np.zeros(shape, dtype=np.int64)
    order: list[tuple[bool, int, int, int, int]] = []  # the first target before the others, then by disagreement
    for scorer, target in np.ndindex(shape):
        gaps = scorer_ranks[:, scorer] - rater_ranks[:, target]
        num_compared[scorer, target] = (~np.isnan(gaps)).sum()
        order += [(target > 0, level, target, scorer, index) for level, index in enumerate(_top_gaps(gaps))]
    top: list[list[list[tuple[int, float, float]]]] = [[[] for _ in range(shape[1])] for _ in range(shape[0])]
    pairs: dict[int, dict[str, Any]] = {}
    remaining = MAX_TEXT_BYTES
    for _, _, target, scorer, index in sorted(order):
        name = scorers[scorer]
        row = rows.rows[index]
        details = {key: row[key][name] for key in _DETAIL_FIELDS if name in row.get(key, {})}
        pair = pairs.get(index) or {
            "index": len(pairs),
            **{key: row.get(key) for key in _PAIR_FIELDS},
            "scores": _to_list(rows.scores[index]),
            "targets": _to_list(rows.targets[index]),
            "scorer_ranks": _to_list(scorer_ranks[index]),
            "rater_ranks": _to_list(rater_ranks[index]),
            "details": {},
        }
        size = len(json_for_script({name: details})) + (0 if index in pairs else len(json_for_script(pair)))
        if size > remaining:
            break
        remaining -= size
        pair["details"][name] = details
        pairs[index] = pair
        scorer_rank = round(float(scorer_ranks[index, scorer]), 4)
        rater_rank = round(float(rater_ranks[index, target]), 4)
        top[scorer][target].append((pair["index"], scorer_rank, rater_rank))
    return {"pairs": list(pairs.values()), "top": top, "num_compared": num_compared.tolist()}


def _top_gaps(gaps: Floats) -> list[int]:
    """Return the indices of the rows with the largest nonzero gaps, in descending order."""
    size = np.nan_to_num(np.abs(gaps))
    order = np.argsort(-size, kind="stable")[:MAX_DISAGREEMENTS]
    return [int(index) for index in order if size[index] > 0]


def _to_list(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else float(f"{value:.5g}") for value in values.tolist()]
