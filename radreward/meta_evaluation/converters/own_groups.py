"""Groups of the project's own, with known errors, as rated pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from radreward.data.records import read_groups
from radreward.meta_evaluation.rated_pairs_io import MEAN_RATER, RatedPair
from radreward.meta_evaluation.scorer_runner import INSIGNIFICANT_PREFIX, SIGNIFICANT_PREFIX


def read_own_groups(source: Path) -> Iterator[RatedPair]:
    """A pair for each candidate whose errors are known.

    Errors that are counted apart as significant and insignificant are added up; the significant ones are told too.

    Args:
        source: A file of groups, or the folder that `radreward synthesize` wrote; a data card beside the groups that
            says so makes the pairs synthetic.

    Raises:
        InputError: At the first row that cannot be used.
    """
    path = source / "groups.parquet" if (source / "groups.parquet").is_file() else source
    card = path.parent / "card.json"
    synthetic = card.is_file() and "SYNTHETIC" in json.loads(card.read_text(encoding="utf-8")).get("label", "")
    for group in read_groups(path):
        for place, candidate in enumerate(group.candidates, 1):
            errors, significant = split_by_significance(candidate.errors or {})
            yield RatedPair(
                f"{group.id}/{place}",
                group.reference,
                candidate.text,
                group.id,
                candidate.system,
                {},
                {MEAN_RATER: errors} if errors else {},
                {MEAN_RATER: significant} if significant else {},
                synthetic,
            )


def split_by_significance(errors: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """All errors, and the significant ones where these are counted apart.

    >>> by_significance({"significant_omission": 1, "insignificant_omission": 2})
    ({'omission': 3}, {'omission': 1})
    >>> by_significance({"omission": 1})
    ({'omission': 1}, {})
    """
    every: dict[str, float] = {}
    significant: dict[str, float] = {}
    for tag, count in errors.items():
        plain = tag.removeprefix(SIGNIFICANT_PREFIX).removeprefix(INSIGNIFICANT_PREFIX)
        every[plain] = every.get(plain, 0) + count
        if tag.startswith(SIGNIFICANT_PREFIX):
            significant[plain] = count
    return every, significant
