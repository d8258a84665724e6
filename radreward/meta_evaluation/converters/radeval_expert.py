"""RadEval's expert set (Xu et al., 2025): errors of three candidates per reference, counted by radiologists."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from radreward.criteria.presets import RADCLIQ_ERROR_TYPES
from radreward.io.validated_rows import RowError, raise_row_errors, read_validated_rows, text_field
from radreward.meta_evaluation.rated_pairs import RatedPair

CANDIDATES = (1, 2, 3)
"""Numbers of the columns `predictionK` and `annotationK`."""
CATEGORY_TAGS = (*(criterion.tag for criterion in RADCLIQ_ERROR_TYPES), "inarticulate_report")
"""Criteria of the categories 1 to 7 of an annotation."""
_LEVELS = ("significant", "insignificant")
_LEVEL = re.compile(r"[^a-z0-9]*(significant|insignificant)[^a-z0-9]*", re.IGNORECASE)
_CATEGORY = re.compile(r"\s*([1-7])[.)]\s(.*)")
_COUNT = re.compile(r".*:\s*(\d{1,6})\s*[.;]?\s*")
_PATIENT = re.compile(r"(?:^|[/\\])(p\d{6,}|patient\d+)(?=[/\\]|$)")
"""Folder of a patient in MIMIC-CXR and in CheXpert."""
_Counts = dict[str, dict[str, float]]
"""Level → criterion → errors; NaN if there is no count."""


def read_radeval_expert(source: Path) -> Iterator[RatedPair]:
    """Yield three pairs per row with the error counts of the row's annotator.

    The criteria are the error types of RadCliQ, and `inarticulate_report`. A category without an integer has no count.
    Pairs of one patient form a case; if the path names no patient, pairs with the same `images_path` do. The
    names of the candidates' systems are not published. A second row for the same pair is another pair.

    Args:
        source: A file in any format of `read_rows` with the columns `annotator`, `type`, `ground_truth`, `images_path`,
            `predictionK` and `annotationK` for K from 1 to 3. An annotation has the lines "Significant:" and
            "Insignificant:", each followed by lines such as "1. False prediction of finding: 2" for the categories 1
            to 7: false finding, omission, location, severity, comparison that is not in the reference, omitted change,
            grammar and readability. Other lines are not read.

    Raises:
        InputError: If a row is invalid.
    """
    errors = []
    for number, values in read_validated_rows(source, dict):
        for candidate in CANDIDATES:
            try:
                yield _parse_pair(values, number, candidate)
            except RowError as error:
                errors.append(f"row {number}: {error}")
    if errors:
        raise_row_errors(source, errors)


def _parse_pair(values: Mapping[str, Any], number: int, candidate: int) -> RatedPair:
    path = text_field(values, "images_path")
    patient = _PATIENT.search(path)
    rater = text_field(values, "annotator", allow_integer=True)
    counts = _parse_annotation(text_field(values, f"annotation{candidate}"), f"annotation{candidate}")
    totals = {tag: sum(counts[level][tag] for level in _LEVELS) for tag in CATEGORY_TAGS}
    return RatedPair(
        id=f"{number}/{candidate}",
        reference=text_field(values, "ground_truth"),
        candidate=text_field(values, f"prediction{candidate}"),
        group=patient[1] if patient else path,
        errors={rater: totals},
        significant_errors={rater: counts[_LEVELS[0]]},
    )


def _parse_annotation(text: str, field: str) -> _Counts:
    r"""Return the counts of each level.

    Raises:
        RowError: If a level is missing, or a level or a category is repeated.

    >>> lines = [f"{number}. Category: {number % 2}" for number in range(1, 8)]
    >>> counts = _parse_annotation("\n".join(["Significant:", *lines, "Insignificant:", *lines]), "annotation1")
    >>> counts["significant"]["omission"], counts["insignificant"]["inarticulate_report"]
    (0.0, 1.0)
    """
    counts: _Counts = {}
    seen: set[tuple[str, str]] = set()
    level = ""
    for line in text.splitlines():
        if heading := _LEVEL.fullmatch(line):
            level = heading[1].lower()
            if level in counts:
                raise RowError(f"field {field!r}: Expected one line {line.strip()!r} but got a second one")
            counts[level] = dict.fromkeys(CATEGORY_TAGS, math.nan)
        elif level and (category := _CATEGORY.fullmatch(line)):
            tag = CATEGORY_TAGS[int(category[1]) - 1]
            if (level, tag) in seen:
                raise RowError(f"field {field!r}: Expected each category once per level but got {line.strip()!r}")
            seen.add((level, tag))
            if number := _COUNT.fullmatch(line):
                counts[level][tag] = float(number[1])
    for name in _LEVELS:
        if name not in counts:
            raise RowError(f"field {field!r}: Expected a line '{name.title()}:' but got none")
    return counts
