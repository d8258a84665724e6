"""Ratings exported from the page of `radreward rate`, one file per rater."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard, TypeVar

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint, read_json_object
from radreward.io.validated_rows import RowError, number_field, optional_text_field, text_field
from radreward.meta_evaluation.rated_pairs import RatedPair

T = TypeVar("T")
RATINGS_FORMAT = "radreward ratings 1"
MIN_RATING, MAX_RATING = 1, 5


class RatingCase(NamedTuple):
    """A pair of reports to rate."""

    id: str
    reference: str
    candidate: str
    group: str | None = None
    """The case, if it has several candidates."""
    system: str | None = None
    """System that wrote the candidate; raters do not see it."""


class CaseRating(NamedTuple):
    """Judgement of one rater about a case."""

    rating: float | None
    errors: tuple[tuple[str, bool], ...]
    """Criterion of each error, and True if it is clinically significant."""


def parse_case(values: Mapping[str, Any]) -> RatingCase:
    """Return the case of a row.

    Raises:
        RowError: If a field is missing or no text.
    """
    return RatingCase(
        text_field(values, "id", allow_integer=True),
        text_field(values, "reference"),
        text_field(values, "candidate"),
        optional_text_field(values, "group", allow_integer=True),
        optional_text_field(values, "system"),
    )


def cases_digest(cases: Sequence[RatingCase], criteria: Sequence[str]) -> str:
    """Return a hash of cases and criteria, with which a changed export is recognized."""
    return fingerprint([tuple(case) for case in cases], list(criteria))


def read_ratings(sources: Sequence[Path]) -> Iterator[RatedPair]:
    """Yield one pair per case with the ratings and error counts of all raters.

    If a rater neither rated a case nor marked an error in it, the rater has no value for this case. If a rater rated it
    without marking an error, the counts are 0.

    Args:
        sources: One file per rater.

    Raises:
        InputError: If a file is no export of the page or was changed, two files have the same rater or different
            cases, or a rating or criterion is unknown. The message names file, case and field.
    """
    raters: dict[str, dict[str, CaseRating]] = {}
    first: tuple[list[RatingCase], list[str]] | None = None
    for path in sources:
        rater, cases, criteria, ratings = _read_rater(path)
        if first and first != (cases, criteria):
            raise InputError(f"{path}: Expected the cases and criteria of {sources[0]} but got different ones.")
        if rater in raters:
            raise InputError(f"{path}: Expected one file per rater but got a second one of {rater!r}.")
        first = cases, criteria
        raters[rater] = ratings
    if first:
        yield from join_raters(*first, raters)


def join_raters(
    cases: Sequence[RatingCase], criteria: Sequence[str], raters: Mapping[str, Mapping[str, CaseRating]]
) -> Iterator[RatedPair]:
    """Yield one pair per case with the ratings of all raters.

    Args:
        cases: The cases.
        criteria: Tags of the criteria; every criterion gets a count, which may be 0.
        raters: Rater → id of the case → rating.
    """
    for case in cases:
        given = {rater: ratings[case.id] for rater, ratings in raters.items() if case.id in ratings}
        yield RatedPair(
            id=case.id,
            reference=case.reference,
            candidate=case.candidate,
            group=case.group or case.id,
            system=case.system,
            ratings={rater: math.nan if entry.rating is None else entry.rating for rater, entry in given.items()},
            errors={rater: _count(entry, criteria) for rater, entry in given.items()},
            significant_errors={rater: _count(entry, criteria, True) for rater, entry in given.items()},
        )


def _count(rating: CaseRating, criteria: Sequence[str], significant_only: bool = False) -> dict[str, float]:
    counts = dict.fromkeys(criteria, 0.0)
    for tag, is_significant in rating.errors:
        counts[tag] += is_significant or not significant_only
    return counts


def _read_rater(path: Path) -> tuple[str, list[RatingCase], list[str], dict[str, CaseRating]]:
    value = read_json_object(path)
    if value.get("format") != RATINGS_FORMAT:
        raise InputError(f"{path}: Expected a file that the page of `radreward rate` exported but got another format.")
    criteria, entries = value.get("criteria"), value.get("cases")
    if not _is_list_of(criteria, str) or not _is_list_of(entries, dict):
        raise InputError(f"{path}: Expected a list of criteria and a list of cases but got others. Export it again.")
    cases: list[RatingCase] = []
    ratings: dict[str, CaseRating] = {}
    for number, entry in enumerate(entries, 1):
        try:
            cases.append(parse_case(entry))
            rating = parse_case_rating(entry.get("rating"), entry.get("errors"), criteria)
        except RowError as error:
            raise InputError(f"{path}, case {number}: {error}.") from error
        if rating.rating is not None or rating.errors:
            ratings[cases[-1].id] = rating
    if value.get("digest") != cases_digest(cases, criteria):
        raise InputError(f"{path}: Expected the cases of the page but got changed ones. Export the file again.")
    try:
        return text_field(value, "rater"), cases, criteria, ratings
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
