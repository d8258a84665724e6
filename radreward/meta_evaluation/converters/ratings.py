"""Ratings exported from the page of `radreward rate`, one file per rater."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, TypeVar

from radreward.errors import InputError
from radreward.io.validated_rows import RowError, number_field, optional_text_field, text_field
from radreward.meta_evaluation.converters.rating_key import RatingCase, RatingKey, cases_digest, read_rating_sources
from radreward.meta_evaluation.rated_pairs import RatedPair

T = TypeVar("T")
RATINGS_FORMAT = "radreward ratings 1"
MIN_RATING, MAX_RATING = 1, 5


class CaseRating(NamedTuple):
    """Judgement of one rater about a case."""

    rating: float | None
    errors: tuple[tuple[str, bool], ...]
    """Criterion of each error, and True if it is clinically significant."""
    note: str | None = None

    @property
    def has_values(self) -> bool:
        """True if there is a rating or an error; without either, the rater did not judge the case."""
        return self.rating is not None or bool(self.errors)


def read_ratings(sources: Sequence[Path]) -> Iterator[RatedPair]:
    """Yield the pairs of `join_raters`.

    Args:
        sources: One file per rater, and the key that `radreward rate` wrote.

    Raises:
        InputError: If a file is no export of the page or was changed, two files have the same rater, the key is missing
            or belongs to other cases, or a rating or criterion is unknown. The message names file, case and field.
    """
    key, exports = read_rating_sources(sources)
    raters: dict[str, dict[str, CaseRating]] = {}
    cases: list[RatingCase] = []
    criteria: list[str] = []
    for path, value in exports:
        rater, cases, criteria, ratings = _parse_export(path, value, key)
        if rater in raters:
            raise InputError(f"{path}: Expected one file per rater but got a second one of {rater!r}.")
        raters[rater] = ratings
    if not raters:
        raise InputError(f"{key.path}: Expected files of raters with this key but got none. Add them to --input.")
    yield from join_raters(cases, criteria, raters)


def join_raters(
    cases: Sequence[RatingCase], criteria: Sequence[str], raters: Mapping[str, Mapping[str, CaseRating]]
) -> Iterator[RatedPair]:
    """Yield one pair per case with the ratings, error counts and notes of all raters.

    If a rater neither rated a case nor marked an error in it, the rater has no value for this case. If a rater rated it
    without marking an error, the counts are 0.

    Args:
        cases: The cases.
        criteria: Tags of the criteria; every criterion gets a count, which may be 0.
        raters: Rater → id of the case → rating.
    """
    for case in cases:
        entries = {rater: ratings[case.id] for rater, ratings in raters.items() if case.id in ratings}
        given = {rater: entry for rater, entry in entries.items() if entry.has_values}
        yield RatedPair(
            id=case.id,
            reference=case.reference,
            candidate=case.candidate,
            group=case.group or case.id,
            system=case.system,
            ratings={rater: math.nan if entry.rating is None else entry.rating for rater, entry in given.items()},
            errors={rater: _count(entry, criteria) for rater, entry in given.items()},
            significant_errors={rater: _count(entry, criteria, True) for rater, entry in given.items()},
            notes={rater: entry.note for rater, entry in entries.items() if entry.note},
        )


def _count(rating: CaseRating, criteria: Sequence[str], significant_only: bool = False) -> dict[str, float]:
    counts = dict.fromkeys(criteria, 0.0)
    for tag, is_significant in rating.errors:
        counts[tag] += is_significant or not significant_only
    return counts


def _parse_export(
    path: Path, value: Any, key: RatingKey
) -> tuple[str, list[RatingCase], list[str], dict[str, CaseRating]]:
    if not isinstance(value, dict) or value.get("format") != RATINGS_FORMAT:
        raise InputError(f"{path}: Expected a file that the page of `radreward rate` exported but got another format.")
    if value.get("digest") != key.digest:
        raise InputError(f"{path}: Expected ratings of the cases of {key.path} but got ratings of other ones.")
    criteria, entries = value.get("criteria"), value.get("cases")
    if not _is_list_of(criteria, str) or not _is_list_of(entries, dict):
        raise InputError(f"{path}: Expected a list of criteria and a list of cases but got others. Export it again.")
    texts: list[tuple[str, str]] = []
    given: list[CaseRating] = []
    for number, entry in enumerate(entries, 1):
        try:
            texts.append((text_field(entry, "reference"), text_field(entry, "candidate")))
            rating = parse_case_rating(entry.get("rating"), entry.get("errors"), criteria)
            given.append(rating._replace(note=optional_text_field(entry, "note")))
        except RowError as error:
            raise InputError(f"{path}, case {number}: {error}.") from error
    if cases_digest(texts, criteria) != key.digest or len(texts) != len(key.entries):
        raise InputError(f"{path}: Expected the cases of the page but got changed ones. Export the file again.")
    cases = [key.case(index, *pair) for index, pair in enumerate(texts)]
    try:
        return (
            text_field(value, "rater"),
            cases,
            criteria,
            {case.id: entry for case, entry in zip(cases, given, strict=True)},
        )
    except RowError as error:
        raise InputError(f"{path}: {error}.") from error


def parse_case_rating(rating: Any, errors: Any, criteria: Sequence[str]) -> CaseRating:
    """Return the rating of a case.

    Args:
        rating: A number from 1 to 5, or None.
        errors: Mappings with `criterion` and `significant`.
        criteria: Tags of the known criteria.

    Raises:
        RowError: If the rating is out of range, or an error has no known criterion.
    """
    number = number_field({"rating": rating}, "rating", MIN_RATING, MAX_RATING)
    if not _is_list_of(errors, dict):
        raise RowError(f"field 'errors': Expected a list of errors but got {errors!r}")
    for error in errors:
        if error.get("criterion") not in criteria or not isinstance(error.get("significant"), bool):
            expected = f"`criterion` ({', '.join(criteria)}) and `significant` (true or false)"
            raise RowError(f"field 'errors': Expected {expected} but got {error!r}")
    return CaseRating(number, tuple((error["criterion"], error["significant"]) for error in errors))


def _is_list_of(value: Any, kind: type[T]) -> TypeGuard[list[T]]:
    return isinstance(value, list) and all(isinstance(entry, kind) for entry in value)
