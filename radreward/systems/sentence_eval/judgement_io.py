"""Files of sentence scores, by a judge or by people: one row per report pair and rater."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward.data.relation_io import RELATION_SCORES
from radreward.errors import InputError
from radreward.io.entry_lists import entry_list_type
from radreward.io.tables import write_table
from radreward.io.validated_rows import (
    RowError,
    number_field,
    optional_text_field,
    parse_json_cell,
    read_validated_rows,
    text_field,
)
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore, round_to_score
from radreward.systems.sentence_eval.prompt import sentence_ids
from radreward.types import Side

if TYPE_CHECKING:
    from pyarrow import Schema


class JudgedPair(NamedTuple):
    """A report pair with its judgement."""

    id: str
    rater: str | None
    """Person who judged; None for a judge."""
    reference: tuple[str, ...]
    """Sentences of the reference."""
    candidate: tuple[str, ...]
    judgement: SentenceJudgement
    regressed: float | None = None
    """Overall score that a regressor predicts from the scores of the sentences."""
    is_fitted: bool = False
    """True if the regressor was fitted to a pair with this reference."""


def judgement_schema(*extra: tuple[str, Any]) -> Schema:
    """Return the columns of a file of sentence scores. `extra` columns, given with their types, follow `id`."""
    import pyarrow as pa

    fields = {"id": pa.string(), "sentence": pa.string(), "score": pa.float64(), "match": pa.list_(pa.string())}
    sentence = pa.struct({**fields, "probabilities": pa.list_(pa.float64())})
    summary = {"overall": pa.float64(), "status": pa.string(), "explanation": pa.string()}
    sides = {side.value: pa.list_(sentence) for side in Side}
    return pa.schema(
        {"id": pa.string(), **dict(extra), **summary, **sides, "format_errors": entry_list_type(pa.int64())}
    )


def judgement_row(
    pair_id: str | None,
    reference: Sequence[str],
    candidate: Sequence[str],
    judgement: SentenceJudgement | None,
    status: str,
) -> dict[str, Any]:
    """Return the values of a pair by the columns of `judgement_schema`.

    The judgement is None if the pair could not be judged. The status is "ok" or the reason why scores are missing.
    """
    row: dict[str, Any] = {"id": pair_id, "overall": None, "status": status, "explanation": ""}
    row |= {"reference": [], "candidate": [], "format_errors": {}}
    if judgement is None:
        return row
    for field in ("overall", "explanation", "format_errors"):
        row[field] = getattr(judgement, field)
    ids = {Side.REFERENCE: sentence_ids(len(reference)), Side.CANDIDATE: sentence_ids(len(candidate), uppercase=True)}
    for side, texts, scores in (
        (Side.REFERENCE, reference, judgement.reference_scores),
        (Side.CANDIDATE, candidate, judgement.candidate_scores),
    ):
        row[side] = [
            {
                "id": sentence_id,
                "sentence": text,
                "score": None if score is None else score.score,
                "match": [] if score is None else [ids[side.other][match] for match in score.matches],
                "probabilities": None if score is None or score.probabilities is None else list(score.probabilities),
            }
            for sentence_id, text, score in zip(ids[side], texts, scores, strict=True)
        ]
    return row


def write_judged_pairs(path: str | Path, pairs: Iterable[JudgedPair]) -> None:
    """Write sentence scores of people atomically, as JSONL, CSV or Parquet."""
    import pyarrow as pa

    rows = (
        judgement_row(pair.id, pair.reference, pair.candidate, pair.judgement, pair.judgement.status)
        | {"rater": pair.rater}
        for pair in pairs
    )
    write_table(path, judgement_schema(("rater", pa.string())), rows)


def read_judged_pairs(path: str | Path) -> list[JudgedPair]:
    """Return the pairs in a file that `radreward judge-sentences` or `radreward convert --from sentences` wrote.

    Raises:
        InputError: If a row is invalid. The message names the file, the row and the field.
    """
    return [pair for _, pair in read_validated_rows(path, _parse_pair)]


def select_rater(pairs: Sequence[JudgedPair], rater: str) -> list[JudgedPair]:
    """Return the pairs that a rater judged.

    Raises:
        InputError: If there are none.
    """
    selected = [pair for pair in pairs if pair.rater == rater]
    if not selected:
        raters = ", ".join(sorted({pair.rater for pair in pairs if pair.rater is not None})) or "none"
        raise InputError(f"Expected sentence scores of rater {rater!r} but got those of {raters}.")
    return selected


def _parse_pair(values: Mapping[str, Any]) -> JudgedPair:
    sides = {side: _parse_side(values, side.value) for side in Side}
    ids = {side: {entry.id: index for index, entry in enumerate(own)} for side, own in sides.items()}
    scores = {
        side: tuple(_to_score(entry, ids[side.other], side.value) for entry in own) for side, own in sides.items()
    }
    judgement = SentenceJudgement(
        scores[Side.REFERENCE],
        scores[Side.CANDIDATE],
        number_field(values, "overall", 0, 5),
        str(values.get("explanation") or ""),
        {},
        optional_text_field(values, "status") or "ok",
    )
    reference, candidate = (tuple(entry.text for entry in sides[side]) for side in Side)
    rater = optional_text_field(values, "rater", allow_integer=True)
    regressed = number_field(values, "regressed", -math.inf, math.inf)
    is_fitted = str(values.get("fitted")).lower() == "true"
    pair_id = text_field(values, "id", allow_integer=True)
    return JudgedPair(pair_id, rater, reference, candidate, judgement, regressed, is_fitted)


class _Sentence(NamedTuple):
    id: str
    text: str
    score: float | None
    matches: Sequence[str]
    probabilities: tuple[float, ...] | None


def _parse_side(values: Mapping[str, Any], side: str) -> list[_Sentence]:
    if side not in values:
        raise RowError(f"field {side!r}: Expected a column of this name, as `radreward judge-sentences` writes it")
    entries = [] if values[side] is None else parse_json_cell(values[side], side)
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise RowError(f"field {side!r}: Expected a list of sentences but got {values[side]!r}")
    try:
        return [_parse_sentence(entry) for entry in entries]
    except RowError as error:
        raise RowError(f"field {side!r}: {error}") from error


def _parse_sentence(entry: Mapping[str, Any]) -> _Sentence:
    score = number_field(entry, "score", min(RELATION_SCORES), max(RELATION_SCORES))
    matches, probabilities = entry.get("match") or [], entry.get("probabilities")
    if not isinstance(matches, list):
        raise RowError(f"field 'match': Expected a list of ids but got {matches!r}")
    if probabilities is not None and not _are_probabilities(probabilities):
        raise RowError(f"field 'probabilities': Expected {len(RELATION_SCORES)} numbers but got {probabilities!r}")
    sentence_id, text = text_field(entry, "id"), text_field(entry, "sentence")
    return _Sentence(sentence_id, text, score, matches, None if probabilities is None else tuple(probabilities))


def _are_probabilities(values: Any) -> bool:
    return (
        isinstance(values, list)
        and len(values) == len(RELATION_SCORES)
        and all(isinstance(value, int | float) and 0 <= value <= 1 for value in values)
        and math.isclose(sum(values), 1, abs_tol=1e-3)
    )


def _to_score(sentence: _Sentence, other_ids: Mapping[str, int], side: str) -> SentenceScore | None:
    if unknown := [name for name in sentence.matches if name not in other_ids]:
        raise RowError(f"field {side!r}: sentence {sentence.id!r} matches {unknown[0]!r}, which the other report lacks")
    if sentence.score is None:
        return None
    matches = tuple(other_ids[name] for name in sentence.matches)
    # A mean of repetitions without probabilities counts as the closest score.
    score = sentence.score if sentence.probabilities else round_to_score(sentence.score)
    return SentenceScore(score, matches, sentence.probabilities)
