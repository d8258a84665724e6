"""A column of scores in a file, as a metric: scores of another program, of people, or of a judge with a regressor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from radreward.errors import InputError
from radreward.io.artifacts import file_fingerprint, fingerprint
from radreward.io.validated_rows import RowError, number_field, read_validated_rows, text_field
from radreward.meta_evaluation.rated_pairs import RatedPairs
from radreward.scorers.base import Scorer
from radreward.scorers.pair_errors import PairError
from radreward.scorers.status import STATUS_OK
from radreward.types import Scores

FITTED_COLUMN = "fitted"
"""Column of a scored file: true if the score comes from a model that was fitted to this pair."""


class ColumnName(NamedTuple):
    """Name of a column of scores in a file.

    >>> ColumnName.parse("runs/judged.jsonl:regressed")
    ColumnName(path=PosixPath('runs/judged.jsonl'), column='regressed', higher_is_better=True)
    """

    path: Path
    column: str
    higher_is_better: bool

    @classmethod
    def parse(cls, text: str) -> ColumnName:
        """Parse `FILE:COLUMN`, or `FILE:-COLUMN` if a lower score is better.

        Raises:
            InputError: If the text has another form.
        """
        path, _, column = text.rpartition(":")
        name = column.removeprefix("-")
        if not path or not name:
            raise InputError(
                f"--scores: Expected FILE:COLUMN, or FILE:-COLUMN if a lower score is better, but got {text!r}."
            )
        return cls(Path(path), name, name == column)


class ScoreColumn(Scorer):
    """Scorer of rated pairs that looks up their scores in a file, by id.

    Args:
        name: File and column.
        pairs: The rated pairs; no other pair has a score.

    Attributes:
        num_fitted: Number of rated pairs whose score comes from a model that was fitted to them, see `FITTED_COLUMN`.

    Raises:
        InputError: If the file cannot be read, lacks the column, has an id twice or none of the ids of the pairs, or if
            pairs with equal texts have different scores.
    """

    normalizes_text = False

    def __init__(self, name: ColumnName, pairs: RatedPairs) -> None:
        self.name, self.higher_is_better = name, name.higher_is_better
        self.title = f"{name.path.stem}: {name.column}"
        rows = _read_column(name)
        self._scores: dict[tuple[str, str], float | None] = {}
        self.num_fitted = num_found = 0
        for pair in pairs.rows:
            if (row := rows.get(pair.id)) is None:
                continue
            num_found += 1
            self.num_fitted += row.is_fitted
            key = pair.reference, pair.candidate
            if self._scores.setdefault(key, row.score) != row.score:
                raise InputError(
                    f"{name.path}, id {pair.id!r}: Expected the score of an earlier pair with the same texts, "
                    f"{self._scores[key]}, but got {row.score}."
                )
        if not num_found:
            raise InputError(f"{name.path}: Expected the ids of the rated pairs but got none of them.")

    def score_of(self, reference: str, candidate: str) -> float | None:
        """Return the score of a pair of texts, or None without a score."""
        return self._scores.get((reference, candidate))

    def _pair_error(self, reference: Any, candidate: Any) -> PairError | None:
        if self.score_of(reference, candidate) is None:
            return PairError(None, f"no score in {self.name.path}")
        return None

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = [self.score_of(*pair) for pair in zip(references, candidates, strict=True)]
        total = torch.tensor([math.nan if score is None else score for score in scores])
        return Scores(total=total, sub_scores=None, error_counts=None, status=(STATUS_OK,) * len(scores))

    def fingerprint(self) -> str:
        """Return a hash of the file and the column."""
        return fingerprint(file_fingerprint(self.name.path), *self.name[1:])

    def save_pretrained(self, folder: str | Path) -> None:
        """Raise an error: scores in a file cannot score other pairs.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{self.title}: Expected a model but got scores in a file, which cannot be saved as one.")


class _Row(NamedTuple):
    id: str
    score: float | None
    is_fitted: bool


def _read_column(name: ColumnName) -> Mapping[str, _Row]:
    def parse(values: Mapping[str, Any]) -> _Row:
        if name.column not in values:
            raise RowError(f"field {name.column!r}: Expected a column of this name but got {', '.join(values)}")
        score = number_field(values, name.column, -math.inf, math.inf)
        fitted = str(values.get(FITTED_COLUMN)).lower() == "true"
        return _Row(text_field(values, "id", allow_integer=True), score, fitted)

    return {row.id: row for _, row in read_validated_rows(name.path, parse, lambda row: row.id)}


def fitted_notes(columns: Iterable[ScoreColumn]) -> list[str]:
    """Return a warning for each column with scores of a model that was fitted to some of the pairs."""
    return [
        f"{column.title}: its model was fitted to the references of {column.num_fitted} pairs, so its agreement is not "
        "that on new reports; `radreward fit-regressor --scores FILE --data RATED` measures it on held-out references"
        for column in columns
        if column.num_fitted
    ]
