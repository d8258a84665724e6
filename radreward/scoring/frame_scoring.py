"""Scores as columns of a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from radreward.errors import InputError
from radreward.scorers.base import Scorer
from radreward.scorers.pair_errors import is_missing, text_list
from radreward.scoring.input_columns import InputColumns
from radreward.scoring.input_scan import check_columns, warn_unusable_contexts
from radreward.scoring.pairs import Pairs, score_in_chunks
from radreward.scoring.score_columns import ScorerGroup, load_scorers
from radreward.text.patient_context import CONTEXT_COLUMNS, PatientContext, parse_context


def score_frame(
    frame: Any,
    models: str | Path | Scorer | Sequence[str | Path | Scorer] = "er2score",
    reference: str = "reference",
    candidate: str = "candidate",
    progress: bool = True,
    **settings: Any,
) -> pd.DataFrame:
    """Return a pandas data frame with the score columns of `score_file` appended; index and order are kept.

    A row that cannot be scored has no scores and a status with the reason. Columns `age` and `indication` are used as
    by `score_file`.

    Args:
        frame: A pandas data frame, or anything with `to_pandas`: polars, Arrow, `datasets`.
        models: A scorer, its name or folder, or a sequence of these; the columns of several start with their names.
        reference: Column of the references.
        candidate: Column of the candidates.
        progress: Show progress on standard error.
        settings: See `radreward.load`.

    Raises:
        InputError: If there is no such scorer or column, `frame` is not a data frame, or has a column that a scorer
            writes.

    >>> frame = pd.DataFrame({"reference": ["No effusion.", "Clear."], "candidate": ["No effusion.", None]}, [7, 3])
    >>> score_frame(frame, "rouge-l", progress=False)[["total", "status"]]
       total             status
    7    1.0                 ok
    3    NaN  missing candidate
    """
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"frame: Expected a data frame but got {type(frame).__name__}. Convert it with `pandas.DataFrame(...)`."
        )
    check_columns(InputColumns(reference, candidate), list(frame.columns), "frame")
    scorers = _scorers(models, settings)
    columns = scorers.columns
    if overwritten := [name for name in columns.names if name in frame.columns]:
        raise InputError(f"frame: Expected no column {overwritten[0]!r}; the scorer writes it. Rename the column.")
    references, candidates = text_list(frame[reference], "references"), text_list(frame[candidate], "candidates")
    scorers = scorers.fit_references([text for text in references if not is_missing(text)])
    pairs = Pairs(references, candidates, _contexts(frame) if scorers.uses_context else None)
    scores = [score_in_chunks(scorer, pairs, progress) for scorer in scorers.scorers.values()]
    rows = [row.values for row in scorers.rows(scores)]
    scored = pa.Table.from_pylist(rows, schema=columns).to_pandas()
    joined: pd.DataFrame = pd.concat([frame, scored.set_index(frame.index)], axis=1)
    return joined


def _contexts(frame: pd.DataFrame) -> list[PatientContext] | None:
    """Return age and indication of each patient, or None if the frame has neither column."""
    if not (names := [name for name in CONTEXT_COLUMNS if name in frame.columns]):
        return None
    rows = zip(*(frame[name] for name in names), strict=True)
    contexts = [parse_context(dict(zip(names, row, strict=True))) for row in rows]
    unusable = {name: sum(getattr(context, name) is None for context in contexts) for name in names}
    warn_unusable_contexts("frame", unusable)
    return contexts


def _scorers(models: str | Path | Scorer | Sequence[str | Path | Scorer], settings: dict[str, Any]) -> ScorerGroup:
    if isinstance(models, Scorer):
        return ScorerGroup.of(models)
    return load_scorers([models] if isinstance(models, str | Path) else models, **settings)
