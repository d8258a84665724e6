"""Ratings from Label Studio: the JSON export of a project with tasks written by `radreward rate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from radreward.errors import InputError
from radreward.io.validated_rows import RowError, required_number_field, text_field
from radreward.meta_evaluation.converters.rating_key import RatingCase, RatingKey, read_rating_sources
from radreward.meta_evaluation.converters.ratings import CaseRating, join_raters, parse_case_rating
from radreward.meta_evaluation.rated_pairs import RatedPair

INSIGNIFICANT = "insignificant"
"""Choice that marks an error as clinically insignificant; without it, an error is significant."""


def read_label_studio(sources: Sequence[Path]) -> Iterator[RatedPair]:
    """Yield a pair per task with the ratings, errors and notes of all annotators. Skipped annotations are ignored.

    Args:
        sources: Files exported as JSON, and the key that `radreward rate` wrote.

    Raises:
        InputError: If a file is no such export, a rating or criterion is unknown, an annotator judged a task twice, or
            the key is missing or belongs to other cases. The message names file and task.
    """
    key, exports = read_rating_sources(sources)
    cases: dict[str, RatingCase] = {}
    criteria: list[str] = []
    raters: dict[str, dict[str, CaseRating]] = {}
    for path, tasks in exports:
        if not isinstance(tasks, list) or not tasks:
            raise InputError(f"{path}: Expected a list of tasks but got none. Export the project as JSON.")
        for number, task in enumerate(tasks, 1):
            try:
                case, tags = _parse_task(task, key)
                if cases.setdefault(case.id, case) != case or (criteria and criteria != tags):
                    raise RowError("Expected the reports and criteria of the other tasks of this case but they differ")
                criteria = tags
                for rater, rating in _annotations(task, tags):
                    if raters.setdefault(rater, {}).setdefault(case.id, rating) != rating:
                        raise RowError(f"Expected one annotation of {rater} but got two that differ; cancel one")
            except RowError as error:
                raise InputError(f"{path}, task {number}: {error}.") from error
    if not cases:
        raise InputError(f"{key.path}: Expected exports with this key but got none. Add them to --input.")
    yield from join_raters(list(cases.values()), criteria, raters)


def _parse_task(task: Any, key: RatingKey) -> tuple[RatingCase, list[str]]:
    data = task.get("data") if isinstance(task, Mapping) else None
    criteria = data.get("criteria") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(criteria, list) or "annotations" not in task:
        raise RowError("Expected a task of `radreward rate` with annotations but got none; export the project as JSON")
    if data.get("digest") != key.digest:
        raise RowError(f"field 'digest': Expected a task of {key.path} but got one of other cases")
    number = required_number_field(data, "case", 1, len(key.entries))
    if not number.is_integer():
        raise RowError(f"field 'case': Expected an integer but got {number:g}")
    case = key.case(int(number) - 1, text_field(data, "reference"), text_field(data, "candidate"))
    return case, [str(tag) for tag in criteria]


def _annotations(task: Mapping[str, Any], criteria: Sequence[str]) -> Iterator[tuple[str, CaseRating]]:
    """Yield the annotator and the rating of each annotation. The label and the choice of one error share an id."""
    for annotation in _mappings(task, "annotations"):
        if annotation.get("was_cancelled"):
            continue
        author = annotation.get("completed_by")
        name = author.get("email") or author.get("id") if isinstance(author, Mapping) else author
        rating, note = None, None
        errors: dict[str, dict[str, Any]] = {}
        for entry in _mappings(annotation, "result"):
            kind, value = entry.get("type"), entry.get("value")
            if not isinstance(value, Mapping):
                raise RowError(f"field 'value': Expected a mapping but got {value!r}")
            if kind == "rating":
                rating = value.get("rating")
            elif kind == "textarea":
                note = _text(value)
            elif kind == "labels":
                errors.setdefault(text_field(entry, "id"), {"significant": True})["criterion"] = _label(value)
            elif kind == "choices" and value.get("choices") == [INSIGNIFICANT]:
                errors.setdefault(text_field(entry, "id"), {})["significant"] = False
        yield f"annotator {name}", parse_case_rating(rating, list(errors.values()), criteria)._replace(note=note)


def _text(value: Mapping[str, Any]) -> str | None:
    """Return the paragraphs of a text field as lines; None if all are empty. One paragraph may be a plain string."""
    given = value.get("text")
    paragraphs = [given] if isinstance(given, str) else given
    if not isinstance(paragraphs, list) or not all(isinstance(paragraph, str) for paragraph in paragraphs):
        raise RowError(f"field 'text': Expected a list of texts but got {given!r}")
    return "\n".join(paragraph for paragraph in paragraphs if paragraph.strip()) or None


def _label(value: Mapping[str, Any]) -> str:
    labels = value.get("labels")
    if not isinstance(labels, list) or len(labels) != 1:
        raise RowError(f"field 'labels': Expected one criterion but got {labels!r}")
    return str(labels[0])


def _mappings(values: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    entries = values.get(name)
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise RowError(f"field {name!r}: Expected a list of mappings but got {entries!r}")
    return entries
