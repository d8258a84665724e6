"""RaTE-Eval (RaTEScore, section 3): sentences with error counts, paragraphs with ratings, synonyms and opposites."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from scipy.stats import kendalltau, pearsonr, spearmanr

from radreward.data.records import RowError, text_field
from radreward.errors import InputError
from radreward.io.tables import TableRow, read_rows
from radreward.scorers.base import SCORED_STATUSES, Scorer
from radreward.synthesis.triads import Triad

REFERENCE_COLUMN, CANDIDATE_COLUMN, SCORE_COLUMN = "gt_report", "similar_report", "Score"
"""Columns as published for paragraphs; taken for sentences too, whose published columns we could not confirm."""
TRIAD_COLUMNS = ("original", "rewrite", "opposite")
"""Our names: the published columns of triads we could not confirm."""
MAX_RATING = 5.0
"""Highest rating of a paragraph."""


class RatedText(NamedTuple):
    """A pair of texts and what people made of it, higher is better."""

    reference: str
    candidate: str
    rating: float


def read_paragraphs(
    path: str | Path, columns: tuple[str, str, str] = (REFERENCE_COLUMN, CANDIDATE_COLUMN, SCORE_COLUMN)
) -> list[RatedText]:
    """Task 2: paragraphs with ratings 0 to 5.

    Args:
        path: JSONL, CSV or Parquet.
        columns: Names of reference, candidate and rating.

    Raises:
        InputError: At the first row that cannot be used; names file, row, field and what was expected.
    """
    return [_rated(path, row, columns, _number(path, row, columns[2], MAX_RATING)) for row in _rows(path, columns)]


def read_rated_sentences(
    path: str | Path,
    columns: tuple[str, str, str] = (REFERENCE_COLUMN, CANDIDATE_COLUMN, SCORE_COLUMN),
    max_errors_column: str | None = None,
) -> list[RatedText]:
    """Task 1: sentences with error counts; the rating is 1 - normalised count.

    The names of the columns, and that one holds the normalised count, are assumptions: name others by `columns`.

    Args:
        path: JSONL, CSV or Parquet.
        columns: Names of reference, candidate and errors: a count normalised by the errors that could be made, in
            [0, 1], unless `possible` is given.
        possible: Name of a column with the number of errors that could be made, where counts are not normalised.

    Raises:
        InputError: At the first row that cannot be used; names file, row, field and what was expected.
    """
    found = []
    for row in _rows(path, (*columns, max_errors_column) if max_errors_column else columns):
        most = _number(path, row, max_errors_column, math.inf) if max_errors_column else 1.0
        if most == 0:
            raise _error(path, row, f"field {max_errors_column!r}: expected at least one possible error but got 0")
        errors = _number(path, row, columns[2], most)
        found.append(_rated(path, row, columns, 1 - errors / most))
    return found


def read_triads(path: str | Path, columns: tuple[str, str, str] = TRIAD_COLUMNS) -> list[Triad]:
    """Task 3: triads of a text, the same in other words, and its opposite; an `operator` is kept where there is one.

    The names of the columns are ours, not those of the published file: name others by `columns`.

    Raises:
        InputError: At the first row that cannot be used; names file, row, field and what was expected.
    """
    return [
        Triad(str(row.values.get("operator") or "all"), *_texts(path, row, columns)) for row in _rows(path, columns)
    ]


def rating_metrics(scorer: Scorer, rated: Sequence[RatedText]) -> dict[str, float | int | None]:
    """Tasks 1 and 2: Pearson r, Kendall τ-b and Spearman ρ of totals with ratings, over the pairs that have a score.

    None where a correlation is not defined: fewer than two pairs, or all totals or ratings equal.
    """
    totals = _totals(scorer, [entry.reference for entry in rated], [entry.candidate for entry in rated])
    known = [index for index, total in enumerate(totals) if total is not None]
    x = [total for total in totals if total is not None]
    y = [rated[index].rating for index in known]
    defined = len(set(x)) > 1 and len(set(y)) > 1
    figures: dict[str, float | int | None] = {"pairs": len(rated), "scored": len(known)}
    for name, statistic in (("pearson", pearsonr), ("kendall", kendalltau), ("spearman", spearmanr)):
        figures[name] = float(statistic(x, y).statistic) if defined else None
    return figures


def triad_metrics(scorer: Scorer, triads: Iterable[Triad]) -> dict[str, dict[str, float | int | None]]:
    """Task 3: how often the rewrite scores above the opposite, by operator and for `all`.

    A triad of which one side has no score counts as wrong where neither was told apart, and is told in `unscored`.
    """
    entries = list(triads)
    originals = [triad.original for triad in entries]
    rewrites = _totals(scorer, originals, [triad.rewrite for triad in entries])
    opposites = _totals(scorer, originals, [triad.opposite for triad in entries])
    right: dict[str, list[bool]] = defaultdict(list)
    unscored: dict[str, int] = defaultdict(int)
    for triad, rewrite, opposite in zip(entries, rewrites, opposites, strict=True):
        missing = rewrite is None or opposite is None
        for name in dict.fromkeys((triad.operator, "all")):
            right[name].append(rewrite is not None and opposite is not None and rewrite > opposite)
            unscored[name] += missing
    return {
        name: {"triads": len(values), "unscored": unscored[name], "accuracy": sum(values) / len(values)}
        for name, values in right.items()
    }


def _totals(scorer: Scorer, references: Sequence[str], candidates: Sequence[str]) -> list[float | None]:
    """Totals, higher is better; None where there is none."""
    scores = scorer.score(references, candidates)
    sign = 1.0 if scorer.higher_is_better else -1.0
    totals = (sign * scores.total.to(torch.float64)).tolist()
    return [total if status in SCORED_STATUSES else None for total, status in zip(totals, scores.status, strict=True)]


def _rows(path: str | Path, columns: Sequence[str]) -> Iterable[TableRow]:
    empty = True
    for batch in read_rows(path):
        for row in batch:
            if row.error:
                raise _error(path, row, row.error)
            if empty and not set(columns) <= set(row.values):
                found = ", ".join(map(str, row.values)) or "none"
                raise InputError(f"{path}: Expected the columns {', '.join(columns)} but got {found}.")
            empty = False
            yield row
    if empty:
        raise InputError(f"{path}: Expected at least one row but there is none.")


def _rated(path: str | Path, row: TableRow, columns: Sequence[str], rating: float) -> RatedText:
    reference, candidate = _texts(path, row, columns[:2])
    return RatedText(reference, candidate, rating)


def _texts(path: str | Path, row: TableRow, columns: Sequence[str]) -> list[str]:
    try:
        return [text_field(row.values, column) for column in columns]
    except RowError as error:
        raise _error(path, row, str(error)) from error


def _number(path: str | Path, row: TableRow, column: str, most: float) -> float:
    values: Mapping[str, Any] = row.values
    if column not in values:
        raise _error(path, row, f"field {column!r}: expected a column of this name")
    try:
        number = float(values[column])
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number <= most or math.isinf(number):
        span = f"from 0 to {most:g}" if math.isfinite(most) else ">= 0"
        raise _error(path, row, f"field {column!r}: expected a number {span} but got {values[column]!r}")
    return number


def _error(path: str | Path, row: TableRow, what: str) -> InputError:
    return InputError(f"{path}, row {row.number}: {what}.")
