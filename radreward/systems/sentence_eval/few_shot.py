"""Few-shot examples of the chat judge: report pairs with judged sentences, read from YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from radreward.data.relation_io import RELATION_SCORES
from radreward.errors import InputError
from radreward.io.yaml_files import read_yaml


class ExampleSentence(NamedTuple):
    """A sentence with its counterparts and its score."""

    text: str
    counterparts: tuple[str, ...]
    """Ids of sentences of the other report: a, b, ... in the reference, A, B, ... in the candidate."""
    score: float


class FewShotExample(NamedTuple):
    """A judged report pair."""

    reference: tuple[ExampleSentence, ...]
    candidate: tuple[ExampleSentence, ...]
    overall: float
    explanation: str


def read_examples(path: Path) -> tuple[FewShotExample, ...]:
    """Return the examples of a YAML file: a list of `reference`, `candidate`, `overall` and `explanation`.

    Each report is a list of `text`, `counterparts` (a list of ids of the other report's sentences) and `score`.

    Raises:
        InputError: If the file cannot be read or an example is invalid. The message names the example, the sentence and
            the field.
    """
    examples = read_yaml(path)
    if not isinstance(examples, list):
        raise InputError(f"{path}: Expected a list of examples but got {type(examples).__name__}.")
    return tuple(_parse_example(f"{path}: example {number}", entry) for number, entry in enumerate(examples, 1))


def _parse_example(location: str, entry: Any) -> FewShotExample:
    fields = _require_fields(location, entry, {"reference", "candidate", "overall", "explanation"})
    if not isinstance(fields["explanation"], str):
        raise InputError(f"{location}: explanation: Expected a text but got {fields['explanation']!r}.")
    overall = _parse_number(f"{location}: overall", fields["overall"])
    if not 0 <= overall <= 5:
        raise InputError(f"{location}: overall: Expected a number from 0 to 5 but got {overall:g}.")
    if not isinstance(fields["reference"], list) or not isinstance(fields["candidate"], list):
        raise InputError(f"{location}: Expected lists of sentences as reference and candidate.")
    reports = {}
    for report, other, first_id in (("reference", "candidate", "A"), ("candidate", "reference", "a")):
        ids = [chr(ord(first_id) + index) for index in range(min(len(fields[other]), 26))]
        reports[report] = tuple(
            _parse_sentence(f"{location}: {report} {number}", sentence, ids)
            for number, sentence in enumerate(fields[report], 1)
        )
    return FewShotExample(reports["reference"], reports["candidate"], overall, fields["explanation"])


def _parse_sentence(location: str, entry: Any, ids: list[str]) -> ExampleSentence:
    fields = _require_fields(location, entry, {"text", "counterparts", "score"})
    if not isinstance(fields["text"], str) or not fields["text"].strip():
        raise InputError(f"{location}: text: Expected a sentence but got {fields['text']!r}.")
    score = _parse_number(f"{location}: score", fields["score"])
    if score not in RELATION_SCORES:
        raise InputError(f"{location}: score: Expected one of -1, 0, 0.5, 1 but got {score:g}.")
    counterparts = fields["counterparts"]
    if not isinstance(counterparts, list) or not all(name in ids for name in counterparts):
        expected = f"a list of ids of {', '.join(ids)}"
        raise InputError(f"{location}: counterparts: Expected {expected} but got {counterparts!r}.")
    if bool(counterparts) != (score != 0):
        raise InputError(f"{location}: Expected counterparts if the score is not 0, and none if it is 0.")
    return ExampleSentence(fields["text"], tuple(counterparts), score)


def _require_fields(location: str, entry: Any, names: set[str]) -> dict[str, Any]:
    if not isinstance(entry, dict) or set(entry) != names:
        got = sorted(map(str, entry)) if isinstance(entry, dict) else type(entry).__name__
        raise InputError(f"{location}: Expected the fields {', '.join(sorted(names))} but got {got}.")
    return entry


def _parse_number(location: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{location}: Expected a number but got {value!r}.")
    return float(value)
