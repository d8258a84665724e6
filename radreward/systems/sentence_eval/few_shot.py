"""Pairs of reports with scores of their sentences, from YAML: templates for a model, or what people judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from radreward.errors import InputError

SCORES = (-1.0, 0.0, 0.5, 1.0)
"""What a sentence can be given (Zhu et al., 2024, section III.A)."""


class ExampleSentence(NamedTuple):
    """A sentence, the ids of its counterparts, and its score."""

    text: str
    counterparts: tuple[str, ...]
    score: float


class FewShotExample(NamedTuple):
    """A pair of reports, judged."""

    reference: tuple[ExampleSentence, ...]
    candidate: tuple[ExampleSentence, ...]
    overall: float
    explanation: str

    def texts(self, side: str) -> list[str]:
        """The sentences of "original" or "predicted"."""
        return [sentence.text for sentence in getattr(self, side)]


def read_examples(path: Path) -> tuple[FewShotExample, ...]:
    """Examples of a YAML file: a list of `original`, `predicted`, `overall`, `explanation`.

    Each side is a list of `text`, `match` (a list of ids of the other side: a, b, ... or A, B, ...) and `score`.

    Raises:
        InputError: If the file cannot be read, or an example cannot be; it names the example, the side and the field.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        said = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read as YAML ({said}).") from error
    if not isinstance(loaded, list):
        raise InputError(f"{path}: expected a list of examples but got {type(loaded).__name__}.")
    return tuple(_parse_example(f"{path}: example {number}", entry) for number, entry in enumerate(loaded, 1))


def _parse_example(where: str, entry: Any) -> FewShotExample:
    fields = _require_fields(where, entry, {"original", "predicted", "overall", "explanation"})
    if not isinstance(fields["explanation"], str):
        raise InputError(f"{where}: explanation: expected a text but got {fields['explanation']!r}.")
    overall = _parse_number(f"{where}: overall", fields["overall"])
    if not 0 <= overall <= 5:
        raise InputError(f"{where}: overall: expected a number from 0 to 5 but got {overall:g}.")
    sides = {}
    for side, other in (("original", "predicted"), ("predicted", "original")):
        if not isinstance(fields[side], list) or not isinstance(fields[other], list):
            raise InputError(f"{where}: expected lists of sentences as original and predicted.")
        sides[side] = tuple(
            _parse_sentence(f"{where}: {side} {number}", sentence, len(fields[other]), other == "predicted")
            for number, sentence in enumerate(fields[side], 1)
        )
    return FewShotExample(sides["original"], sides["predicted"], overall, fields["explanation"])


def _parse_sentence(where: str, entry: Any, others: int, upper: bool) -> ExampleSentence:
    fields = _require_fields(where, entry, {"text", "match", "score"})
    if not isinstance(fields["text"], str) or not fields["text"].strip():
        raise InputError(f"{where}: text: expected a sentence but got {fields['text']!r}.")
    score = _parse_number(f"{where}: score", fields["score"])
    if score not in SCORES:
        raise InputError(f"{where}: score: expected one of -1, 0, 0.5, 1 but got {score:g}.")
    ids = [chr(ord("A" if upper else "a") + place) for place in range(min(others, 26))]
    match = fields["match"]
    if not isinstance(match, list) or not all(name in ids for name in match):
        raise InputError(f"{where}: match: expected a list of ids of {', '.join(ids)} but got {match!r}.")
    if bool(match) != (score != 0):
        raise InputError(f"{where}: expected a match where the score is not 0, and none where it is.")
    return ExampleSentence(fields["text"], tuple(match), score)


def _require_fields(where: str, entry: Any, names: set[str]) -> dict[str, Any]:
    if not isinstance(entry, dict) or set(entry) != names:
        got = sorted(map(str, entry)) if isinstance(entry, dict) else type(entry).__name__
        raise InputError(f"{where}: expected the fields {', '.join(sorted(names))} but got {got}.")
    return entry


def _parse_number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: expected a number but got {value!r}.")
    return float(value)
