"""Files as the page of `radreward rate` exports them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from radreward.meta_evaluation.converters.rating_key import RatingCase, cases_digest
from radreward.meta_evaluation.converters.ratings import RATINGS_FORMAT

NO_PLACE = {"side": None, "start": None, "end": None, "text": ""}
GivenRating = tuple[int | None, list[tuple[str, bool]]]
"""Rating of a case, and criterion and significance of each error."""


def write_export(
    path: Path,
    cases: Sequence[RatingCase],
    tags: Sequence[str],
    rater: str,
    given: Sequence[GivenRating],
    /,
    **changes: Any,
) -> None:
    """Write a rater's file; the cases after those that are given are not rated."""
    rated = [*given, *[(None, list[tuple[str, bool]]())] * len(cases)]
    entries = [
        {
            "reference": case.reference,
            "candidate": case.candidate,
            "rating": rating,
            "errors": [{"criterion": tag, "significant": significant, **NO_PLACE} for tag, significant in errors],
            "note": "",
        }
        for case, (rating, errors) in zip(cases, rated, strict=False)
    ]
    digest = cases_digest([(case.reference, case.candidate) for case in cases], tags)
    content = {"format": RATINGS_FORMAT, "digest": digest, "rater": rater, "criteria": list(tags)}
    path.write_text(json.dumps({**content, "cases": entries, **changes}))
