"""Text in, scores out: what every scorer does with rows that cannot be scored."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.io.tables import is_valid_utf8
from radreward.types import Scores

if TYPE_CHECKING:
    from torch import Tensor

STATUS_OK = "ok"
STATUS_TRUNCATED = "truncated"
STATUS_NOT_FINITE = "expected a finite score but the model gave none"
STATUS_NO_ENTITIES = "no entities: the score is that of the setting"
SCORED_STATUSES = frozenset({STATUS_OK, STATUS_TRUNCATED, STATUS_NO_ENTITIES})
"""Statuses of rows that have a score."""


class PairError(NamedTuple):
    """Why a row cannot be scored."""

    field: str
    reason: str


def validate_pair(reference: Any, candidate: Any) -> PairError | None:
    """What is wrong with two texts, if anything.

    >>> problem("Clear lungs.", " ")
    Problem(field='candidate', reason='empty candidate')
    """
    for field, value in (("reference", reference), ("candidate", candidate)):
        if value is None or value != value:  # NaN differs from itself
            return PairError(field, f"missing {field}")
        if not isinstance(value, str):
            return PairError(field, f"expected a text as {field} but got {type(value).__name__}")
        if not value.strip():
            return PairError(field, f"empty {field}")
        if not is_valid_utf8(value):
            return PairError(field, f"expected UTF-8 text as {field}")
    return None


class Scorer(ABC):
    """Judges candidates against references.

    Attributes:
        title: What it is called in tables and plots; where it is empty, the name by which it was loaded.
        criteria: By what it counts errors, or None for a scorer that counts none.
        higher_is_better: The direction of the total.
        explains: Whether its evidence, a named tuple, goes with the scores into files.
        range: The lowest and the highest total there can be; None where there is no bound.
    """

    title: str = ""
    criteria: Criteria | None = None
    higher_is_better: bool = True
    returns_explanations: bool = False
    total_range: tuple[float | None, float | None] = (None, None)

    @property
    def sub_names(self) -> tuple[str, ...]:
        """What the sub-scores are called, in their order: the criteria, unless a scorer has others."""
        return self.criteria.tags if self.criteria else ()

    def fit_references(self, references: Iterable[str]) -> Scorer:
        """The scorer for a run over these references, maybe not all at once: itself, unless it needs to know them all.

        Called once before a run; `references` are not read unless they are needed.
        """
        return self

    def score(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """Scores in the order and length of the input; a row that cannot be scored has NaN and a status that says why.

        Raises:
            ValueError: If there are not as many references as candidates.
            InputError: If the scorer gives another number of scores than there are texts.
        """
        if len(references) != len(candidates):
            raise ValueError(
                f"Expected as many references as candidates but got {len(references)} and {len(candidates)}."
            )
        problems = [validate_pair(*pair) for pair in zip(references, candidates, strict=True)]
        status = [STATUS_OK if found is None else found.reason for found in problems]
        good = [index for index, found in enumerate(problems) if found is None]
        scores = self._score_valid([references[i] for i in good], [candidates[i] for i in good])
        for name, values in scores._asdict().items():
            if values is not None and len(values) != len(good):
                who = self.title or type(self).__name__
                raise InputError(f"{who}: Expected `{name}` of {len(good)} pairs but got {len(values)}.")
        for index, value in zip(good, scores.status, strict=True):
            status[index] = value
        evidence = None
        if scores.evidence is not None:
            shown = dict(zip(good, scores.evidence, strict=True))
            evidence = tuple(shown.get(index) for index in range(len(status)))
        total = _scatter_rows(scores.total, good, len(status))
        sub, counts = (
            None if value is None else _scatter_rows(value, good, len(status))
            for value in (scores.sub_scores, scores.error_counts)
        )
        for index in (~total.isfinite()).nonzero().flatten().tolist():
            total[index] = math.nan
            status[index] = STATUS_NOT_FINITE if status[index] in SCORED_STATUSES else status[index]
        return Scores(total, sub, counts, tuple(status), evidence)

    @abstractmethod
    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """Scores of texts that are not empty; called by `score` with as many of one as of the other, maybe none."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Changes with anything that scores depend on; called before a scoring run is resumed."""

    @abstractmethod
    def save_pretrained(self, folder: str | Path) -> None:
        """Write the scorer to a folder that `radreward.load` reads."""


def _scatter_rows(values: Tensor, rows: list[int], length: int) -> Tensor:
    """Values of some rows to (length, ...), NaN elsewhere."""
    spread = values.float().new_full((length, *values.shape[1:]), math.nan)
    spread[rows] = values.float()
    return spread
