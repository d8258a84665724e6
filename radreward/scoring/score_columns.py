"""Columns of scores, the same in files and in data frames, of one scorer or of several."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.numbers import shortest_float32
from radreward.scorers import SCORERS, load, resolve
from radreward.scorers.base import Scorer
from radreward.scorers.loading import split_name
from radreward.scorers.pair_errors import PairError
from radreward.scorers.status import SCORED_STATUSES
from radreward.scoring.pairs import Pairs, score_pairs
from radreward.types import Scores

STATUS_COLUMN = "status"


class ScoredRow(NamedTuple):
    """Scores of a pair by column, and the reason if scores are missing."""

    values: dict[str, Any]
    error: PairError | None


class ScorerGroup:
    """Scorers of the same pairs; the columns of several start with their names, as in `ratescore_total`.

    Args:
        scorers: Scorers by name.

    >>> from radreward.scorers.lexical import BLEU, ROUGE
    >>> ScorerGroup({"bleu": BLEU(2), "rouge": ROUGE("l")}).columns.names
    ['bleu_total', 'bleu_status', 'rouge_total', 'rouge_status']
    """

    def __init__(self, scorers: Mapping[str, Scorer]) -> None:
        self.scorers = dict(scorers)

    @classmethod
    def of(cls, scorer: Scorer | ScorerGroup) -> ScorerGroup:
        """Return a group as it is, and a scorer as a group of one."""
        return scorer if isinstance(scorer, ScorerGroup) else cls({"": scorer})

    @property
    def columns(self) -> pa.Schema:
        """Names and types of the columns."""
        fields = []
        for name, scorer in self.scorers.items():
            prefix = self._prefix(name)
            fields += [(prefix + column, pa.float32()) for column in _number_columns(scorer)]
            texts = ["evidence"] * scorer.returns_explanations + [STATUS_COLUMN]
            fields += [(prefix + column, pa.string()) for column in texts]
        return pa.schema(fields)

    def fit_references(self, references: Iterable[str]) -> ScorerGroup:
        """Return the scorers fitted to all references of a run, which each may iterate over; itself if none changes."""
        fitted = {name: scorer.fit_references(references) for name, scorer in self.scorers.items()}
        unchanged = all(fitted[name] is scorer for name, scorer in self.scorers.items())
        return self if unchanged else ScorerGroup(fitted)

    @property
    def uses_context(self) -> bool:
        """True if a scorer uses the patients' age and indication."""
        return any(scorer.uses_context for scorer in self.scorers.values())

    @property
    def chunk_size(self) -> int:
        """Number of pairs that are scored together: the smallest of the scorers, see `Scorer.chunk_size`."""
        return min(scorer.chunk_size for scorer in self.scorers.values())

    def score(self, pairs: Pairs) -> list[Scores]:
        """Return the scores of each scorer."""
        return [score_pairs(scorer, pairs) for scorer in self.scorers.values()]

    def fingerprint(self) -> dict[str, str]:
        """Return the fingerprints of the scorers by name."""
        return {name: scorer.fingerprint() for name, scorer in self.scorers.items()}

    def rows(self, scores: Sequence[Scores], nested_evidence: bool = False) -> Iterator[ScoredRow]:
        """Yield the columns of each pair from the scores of each scorer; a total is negated if lower is better.

        Evidence is JSON text, or its objects and lists if `nested_evidence` is True.
        """
        parts = [_rows(part, scorer) for part, scorer in zip(scores, self.scorers.values(), strict=True)]
        for row in zip(*parts, strict=True):
            values: dict[str, Any] = {}
            errors = []
            for name, scored in zip(self.scorers, row, strict=True):
                prefix = self._prefix(name)
                values |= {prefix + column: value for column, value in scored.values.items()}
                if nested_evidence and (text := scored.values.get("evidence")) is not None:
                    values[f"{prefix}evidence"] = json.loads(text)
                if scored.error:
                    reason = f"{name}: {scored.error.reason}" if prefix else scored.error.reason
                    errors.append(PairError(scored.error.field, reason))
            yield ScoredRow(values, _join_errors(errors))

    def unscored(self, reason: str) -> dict[str, Any]:
        """Return the columns of an invalid pair, which is not passed to any scorer."""
        statuses = {self._prefix(name) + STATUS_COLUMN: reason for name in self.scorers}
        return dict.fromkeys(self.columns.names) | statuses

    def _prefix(self, name: str) -> str:
        return f"{name}_" if len(self.scorers) > 1 else ""


def load_scorers(models: Sequence[str | Path | Scorer], **settings: Any) -> ScorerGroup:
    """Load scorers for the same pairs; each is named after its model, a folder as by `folder_name`.

    Args:
        models: Names or folders, see `load`, also as `NAME=FOLDER`, or loaded scorers, which are named by their titles.
        settings: See `load`.

    Raises:
        InputError: If there is no such scorer, or two have the same name.
    """
    named = [named_model(model) for model in models]
    if repeated := [name for name, count in Counter(name for name, _ in named).items() if count > 1]:
        raise InputError(
            f"models: Expected models of different names but {repeated[0]!r} is listed twice. "
            "Name one yourself, as in first=runs/mine."
        )
    for _, model in named:
        if not isinstance(model, Scorer):
            resolve(model, bool(settings.get("allow_download")))  # reports errors before heavy imports
    return ScorerGroup(
        {name: model if isinstance(model, Scorer) else _load_named(name, model, settings) for name, model in named}
    )


def is_registered(model: str) -> bool:
    """Return True for a name of the registry, with or without an argument, and False for a path."""
    return model.partition(":")[0] in SCORERS


def folder_name(folder: str | Path) -> str:
    """Return the name of a folder with a model: that of its run, and of a trial with that of its study.

    >>> folder_name("runs/first"), folder_name("runs/first/model"), folder_name("runs/study/trials/4/model")
    ('first', 'first', 'study-4')
    """
    path = Path(folder).expanduser().resolve()
    run = path.parent if path.name == "model" and path.parent.name else path
    return f"{run.parent.parent.name}-{run.name}" if run.parent.name == "trials" else run.name


def named_model(model: str | Path | Scorer) -> tuple[str, str | Scorer]:
    """Return the name of a model, with which its columns start, and the model; see `load_scorers`."""
    if isinstance(model, Scorer):
        title = model.title or type(model).__name__
        return folder_name(title) if Path(title).is_dir() else title, model
    name, model = split_name(model)
    if name or is_registered(model):
        return name or model, model
    path, _, metric = model.rpartition(":")
    return metric if path.endswith(".py") else folder_name(model), model


def _load_named(name: str, model: str, settings: Mapping[str, Any]) -> Scorer:
    """Load a scorer; a title that is only the path of its folder becomes its name."""
    scorer = load(model, **settings)
    if scorer.title == model:
        scorer.title = name
    return scorer


def _json_text(value: Any) -> str:
    """Return a value as JSON that every file can store."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def _number_columns(scorer: Scorer) -> list[str]:
    tags = scorer.criteria.tags if scorer.criteria else ()
    return [*scorer.outputs, *scorer.sub_names, *(f"count_{tag}" for tag in tags)]


def _join_errors(errors: Sequence[PairError]) -> PairError | None:
    """Return the errors of a pair as one; its field is the reference if an error has this field, else the candidate."""
    if not errors:
        return None
    field = "reference" if "reference" in [error.field for error in errors] else "candidate"
    return PairError(field, "; ".join(error.reason for error in errors))


def _rows(scores: Scores, scorer: Scorer) -> Iterator[ScoredRow]:
    """Yield the columns of each pair without prefix; all but the status are None without a score."""
    size = len(scores.status)
    blocks = []
    for output in scorer.outputs:
        values = getattr(scores, output)
        if output == "total" and not scorer.higher_is_better:
            values = -values
        blocks.append([[None]] * size if values is None else values.unsqueeze(1).tolist())
    widths = len(scorer.sub_names), len(scorer.criteria) if scorer.criteria else 0
    for block, width in zip((scores.sub_scores, scores.error_counts), widths, strict=True):
        blocks.append([[None] * width] * size if block is None else block.tolist())
    names = _number_columns(scorer)
    for index, (status, *parts) in enumerate(zip(scores.status, *blocks, strict=True)):
        values = [value for part in parts for value in part]
        numbers = [None if value is None or math.isnan(value) else shortest_float32(value) for value in values]
        error = None
        if status not in SCORED_STATUSES:
            numbers = [None] * len(names)
            error = PairError(scores.status_fields[index] if scores.status_fields else None, status)
        columns: dict[str, Any] = dict(zip(names, numbers, strict=True))
        if scorer.returns_explanations:
            shown = scores.evidence[index] if scores.evidence else None
            columns["evidence"] = None if shown is None else _json_text(shown._asdict())
        yield ScoredRow({**columns, STATUS_COLUMN: status}, error)
