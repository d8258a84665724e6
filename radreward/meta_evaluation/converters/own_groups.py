"""Report groups with known errors, in the package's own format, as rated pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from radreward.data.records import data_label, read_groups
from radreward.meta_evaluation.rated_pairs import MEAN_RATER, RatedPair
from radreward.meta_evaluation.scorer_runner import INSIGNIFICANT_PREFIX, SIGNIFICANT_PREFIX


def read_own_groups(source: Path) -> Iterator[RatedPair]:
    """Yield one pair per candidate with its errors.

    If significant and insignificant errors are counted separately, the errors are their sum, and the significant ones
    are also kept.

    Args:
        source: A file of groups, or the output folder of `radreward synthesize`. Pairs are synthetic if the data card
            next to the file is labelled SYNTHETIC.

    Raises:
        InputError: If a row is invalid.
    """
    path = source / "groups.parquet" if (source / "groups.parquet").is_file() else source
    synthetic = "SYNTHETIC" in (data_label(path) or "")
    for group in read_groups(path):
        for number, candidate in enumerate(group.candidates, 1):
            errors, significant = split_by_significance(candidate.errors or {})
            yield RatedPair(
                id=f"{group.id}/{number}",
                reference=group.reference,
                candidate=candidate.text,
                group=group.id,
                system=candidate.system,
                errors={MEAN_RATER: errors} if errors else {},
                significant_errors={MEAN_RATER: significant} if significant else {},
                synthetic=synthetic,
            )


def split_by_significance(errors: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Return all errors, and the significant ones if they are counted separately.

    >>> split_by_significance({"significant_omission": 1, "insignificant_omission": 2})
    ({'omission': 3}, {'omission': 1})
    >>> split_by_significance({"omission": 1})
    ({'omission': 1}, {})
    """
    total: dict[str, float] = {}
    significant: dict[str, float] = {}
    for tag, count in errors.items():
        criterion = tag.removeprefix(SIGNIFICANT_PREFIX).removeprefix(INSIGNIFICANT_PREFIX)
        total[criterion] = total.get(criterion, 0) + count
        if tag.startswith(SIGNIFICANT_PREFIX):
            significant[criterion] = count
    return total, significant
