"""The rows that a page holds: points to draw, and the pairs on which a scorer and people differ most."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from radreward.meta_evaluation.page.json_script import json_for_script

Floats = NDArray[np.float64]

MAX_POINTS = 2_000
"""Most points in a scatter plot."""
MAX_DISAGREEMENTS = 20
"""Most pairs of each scorer and target that are shown with their reports."""
MAX_TEXT_BYTES = 2_000_000
"""Most that such pairs take in the file, all together."""


class PageColumns(NamedTuple):
    """Columns, by name, and by whether more is better."""

    scorers: Mapping[str, bool]
    targets: Mapping[str, bool]


class SpooledRows(NamedTuple):
    """All rows: numbers in memory, texts in a file.

    Attributes:
        file: One JSON row a line.
        starts: (n,) where each row starts in the file.
        ids: (n,).
        systems: (n,), None where not told.
        scores: (n, S), NaN where there is none.
        targets: (n, T), likewise.
    """

    file: IO[bytes]
    offsets: Sequence[int]
    ids: Sequence[str]
    systems: Sequence[str | None]
    scores: Floats
    targets: Floats

    def read_row(self, index: int) -> dict[str, Any]:
        """A row, whole."""
        self.file.seek(self.offsets[index])
        row: dict[str, Any] = json.loads(self.file.readline())
        return row


def select_page_rows(
    rows: Iterable[Mapping[str, Any]],
    columns: PageColumns,
    max_points: int = MAX_POINTS,
    max_disagreements: int = MAX_DISAGREEMENTS,
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> dict[str, Any]:
    """Read all rows once and keep what a page shows of them.

    A pair's place by a scorer is the share of the pairs that it scored which it puts below (ties count half), from 0
    for the worst to 1 for the best; its place by people likewise. The scorer and people differ by the difference of the
    two: above 0 the scorer is too kind, below 0 too harsh. Texts of all rows are never in memory together.

    Args:
        rows: One per pair, as in `rows.jsonl`.
        names: Of the scorers and targets that count.
        points: Most points; of more rows so many are drawn at random, always the same.
        worst: Most pairs of a scorer and a target.
        text_bytes: Most that pairs may take; the first target's come first, then of all others the worst ones.

    Returns:
        `points` (column by column) and `disagreements`: `pairs`, and for each scorer and target `worst`, a list of
        [number of the pair, place by the scorer, place by people].

    >>> row = {"reference": "Clear.", "candidate": "Clear.", "system": None}
    >>> rows = [{**row, "id": str(n), "targets": {"errors": n}, "scores": {"x": s}} for n, s in enumerate([5, 7, 6])]
    >>> found = choose(rows, Names({"x": True}, {"errors": False}))
    >>> found["disagreements"]["worst"][0][0][0]  # the first pair has no errors and the lowest score
    [0, 0.1667, 0.8333]
    """
    with TemporaryFile() as file:
        table = _spool_rows(rows, columns, file)
        by_scorer = _percentile_ranks(table.scores, list(columns.scorers.values()))
        by_people = _percentile_ranks(table.targets, list(columns.targets.values()))
        return {
            "points": _select_points(table, max_points),
            "disagreements": _select_disagreements(
                table, columns, by_scorer, by_people, max_disagreements, max_text_bytes
            ),
        }


def _spool_rows(rows: Iterable[Mapping[str, Any]], columns: PageColumns, file: IO[bytes]) -> SpooledRows:
    starts: list[int] = []
    ids: list[str] = []
    systems: list[str | None] = []
    scores: list[list[float | None]] = []
    targets: list[list[float | None]] = []
    for row in rows:
        starts.append(file.tell())
        file.write(json.dumps(row).encode() + b"\n")
        ids.append(row["id"])
        systems.append(row.get("system"))
        scores.append([row["scores"].get(name) for name in columns.scorers])
        targets.append([row["targets"].get(name) for name in columns.targets])
    shape = (len(starts), -1)
    return SpooledRows(
        *(file, starts, ids, systems),
        np.array(scores, dtype=float).reshape(shape) if scores else np.empty((0, len(columns.scorers))),
        np.array(targets, dtype=float).reshape(shape) if targets else np.empty((0, len(columns.targets))),
    )


def _percentile_ranks(values: Floats, higher_is_better: Sequence[bool]) -> Floats:
    """(n, M) → (n, M): from 0 for the worst to 1 for the best; NaN stays."""
    turned = values * np.where(higher_is_better, 1.0, -1.0)
    ranks = rankdata(turned, axis=0, nan_policy="omit")
    known = np.maximum(1, np.sum(~np.isnan(values), axis=0))
    places: Floats = (ranks - 0.5) / known
    return places


def _select_points(table: SpooledRows, max_points: int) -> dict[str, Any]:
    total = len(table.ids)
    chosen = list(range(total))
    if total > max_points:  # not every k-th, for systems may take turns
        chosen = sorted(np.random.default_rng(0).choice(total, max_points, replace=False).tolist())
    systems = sorted({system for system in table.systems if system is not None})
    number = {system: place for place, system in enumerate(systems)}
    return {
        "total": total,
        "ids": [table.ids[index] for index in chosen],
        "systems": systems,
        "system": [None if system is None else number[system] for system in (table.systems[i] for i in chosen)],
        "scores": [_to_list(column) for column in table.scores[chosen].T],
        "targets": [_to_list(column) for column in table.targets[chosen].T],
    }


def _select_disagreements(
    table: SpooledRows,
    columns: PageColumns,
    scorer_ranks: Floats,
    rater_ranks: Floats,
    max_disagreements: int,
    max_text_bytes: int,
) -> dict[str, Any]:
    scorers, targets = list(columns.scorers), list(columns.targets)
    orders = [
        [_top_gaps(scorer_ranks[:, one] - rater_ranks[:, other], max_disagreements) for other in range(len(targets))]
        for one in range(len(scorers))
    ]
    pairs: dict[int, dict[str, Any]] = {}
    shown: list[list[list[tuple[int, float, float]]]] = [[[] for _ in targets] for _ in scorers]
    left = max_text_bytes
    for one, other, level in _round_robin(len(scorers), len(targets), max_disagreements):
        order = orders[one][other]
        if level >= len(order):
            continue
        index = order[level]
        row = table.read_row(index)
        detail = {
            key: row[key][scorers[one]] for key in ("sub", "counts", "evidence") if scorers[one] in row.get(key, {})
        }
        entry = pairs.get(index) or {
            **{key: row.get(key) for key in ("id", "group", "system", "reference", "candidate")},
            **{"scores": _to_list(table.scores[index]), "targets": _to_list(table.targets[index])},
            **{"by_scorer": _to_list(scorer_ranks[index]), "by_people": _to_list(rater_ranks[index]), "details": {}},
        }
        cost = len(json_for_script({scorers[one]: detail})) + (0 if index in pairs else len(json_for_script(entry)))
        if cost > left:
            break
        left -= cost
        pairs[index] = entry
        entry["details"][scorers[one]] = detail
        shown[one][other].append((index, float(scorer_ranks[index, one]), float(rater_ranks[index, other])))
    number = {index: place for place, index in enumerate(pairs)}
    return {
        "pairs": list(pairs.values()),
        "worst": [
            [[[number[index], round(own, 4), round(people, 4)] for index, own, people in each] for each in row]
            for row in shown
        ],
        "compared": [
            [int(np.sum(~np.isnan(scorer_ranks[:, one] - rater_ranks[:, other]))) for other in range(len(targets))]
            for one in range(len(scorers))
        ],
    }


def _round_robin(scorers: int, targets: int, max_disagreements: int) -> Iterator[tuple[int, int, int]]:
    """(scorer, target, how-manieth): the first target's before the others', and the worst before the less bad."""
    for part in (range(min(1, targets)), range(1, targets)):
        for level in range(max_disagreements):
            for other in part:
                for one in range(scorers):
                    yield one, other, level


def _top_gaps(gaps: Floats, limit: int) -> list[int]:
    """Rows with the largest difference, in descending order; none where there is no difference."""
    size = np.nan_to_num(np.abs(gaps))
    order = np.argsort(-size, kind="stable")[:limit]
    return [int(index) for index in order if size[index] > 0]


def _to_list(values: Floats) -> list[float | None]:
    return [None if value != value else float(f"{value:.5g}") for value in values.tolist()]
