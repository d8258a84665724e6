"""Open-i chest X-ray reports with expert codes: errors between real reports, counted from the codes.

A code is a path, `Opacity/lung/base/left/mild`: a heading, then qualifiers. The collection (Demner-Fushman et al. 2016,
"Preparing a collection of radiology examinations for distribution and retrieval", JAMIA 23:304) is a CSV file with
the columns uid, MeSH, findings and impression.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from experiments.openi.codes import MeSHCode
from radreward.criteria import Criteria
from radreward.criteria.error_counting import compare_facts
from radreward.criteria.presets import RADCLIQ_ERROR_TYPES
from radreward.data.records import write_groups
from radreward.data.split import is_held_out
from radreward.errors import InputError
from radreward.io.tables import read_rows
from radreward.io.validated_rows import RowError, text_field
from radreward.text.facts import Fact
from radreward.types import Candidate, FindingWeights, ReportGroup

logger = logging.getLogger(__name__)

T = TypeVar("T")

NO_FINDING_PREFIXES = ("normal", "no indexing", "technical quality")
"""Prefixes of headings that code no finding."""

SHARED_FINDING_FRACTION, NORMAL_FRACTION = 0.6, 0.3
"""Fraction of candidates that share a finding with the reference, and of normal studies among the others."""

TEST_FRACTION = 0.2
MAX_GROUP_ATTEMPTS = 100
"""Attempts at one group before an error states that the studies are too few."""


class Study(NamedTuple):
    """A report and its codes; a study without codes is normal."""

    id: str
    text: str
    code_paths: tuple[tuple[str, ...], ...] = ()
    """Heading and qualifiers of each code, in lower case."""

    @property
    def codes(self) -> dict[str, list[MeSHCode]]:
        """Return the codes by finding, or by heading if no finding of the vocabulary means the code."""
        codes: dict[str, list[MeSHCode]] = {}
        for code in map(MeSHCode.of_path, self.code_paths):
            codes.setdefault(code.finding or code.heading, []).append(code)
        return codes

    @property
    def facts(self) -> list[Fact]:
        """Return the coded findings that our vocabulary has."""
        facts = (MeSHCode.of_path(path).fact for path in self.code_paths)
        return [fact for fact in facts if fact]


def read_openi(path: str | Path) -> Iterator[Study]:
    """Yield studies in the order of the file; those without findings and impression are skipped, counted and logged.

    The text is findings and impression, with single spaces between words.

    Raises:
        InputError: If the file cannot be read, a column is missing, or a uid is empty or a duplicate.
    """
    skipped, ids = 0, set()
    for batch in read_rows(path):
        for row in batch:
            try:
                if row.error:
                    raise RowError(row.error)
                study = _parse_study(row.values)
                if study.id in ids:
                    raise RowError(f"field 'uid': Expected a new uid but {study.id!r} occurred before")
            except RowError as error:
                raise InputError(f"{path}, row {row.number}: {error}.") from error
            ids.add(study.id)
            if study.text:
                yield study
            else:
                skipped += 1
    if skipped:
        logger.warning("Skipped %d studies of %s without findings and impression.", skipped, path)


def errors_from_codes(reference: Study, candidate: Study) -> dict[str, float]:
    """Return a candidate's errors by the codes, for the tags of `RadCliQCriteria` and `RadCliQSignificanceCriteria`.

    Codes of one finding are matched, best pair first. An unmatched code of the candidate is a false prediction, one of
    the reference an omission. As in generated reports, a matched pair has a wrong location if neither states all
    locations of the other, and a wrong severity if both state one and these differ. The codes contain no comparisons
    with earlier studies. An error is significant if one of its codes is, see `MeSHCode.is_significant`.

    >>> study = Study("1", "Small effusion.", (("pleural effusion", "left", "small"),))
    >>> errors = errors_from_codes(study, Study("2", "Large effusion.", (("pleural effusion", "left", "large"),)))
    >>> {tag: count for tag, count in errors.items() if count}
    {'incorrect_severity': 1.0, 'significant_incorrect_severity': 1.0}
    """
    tags = [entry.tag for entry in RADCLIQ_ERROR_TYPES]
    errors = {prefix + tag: 0.0 for prefix in ("", "significant_", "insignificant_") for tag in tags}

    def count(tag: str, *codes: MeSHCode) -> None:
        errors[tag] += 1
        errors[f"{'significant' if any(code.is_significant for code in codes) else 'insignificant'}_{tag}"] += 1

    expected, predicted = reference.codes, candidate.codes
    for finding in sorted(expected.keys() | predicted.keys()):
        omitted, surplus = list(expected.get(finding, [])), list(predicted.get(finding, []))
        while omitted and surplus:
            left, right = max(product(omitted, surplus), key=lambda pair: _code_similarity(*pair))
            omitted.remove(left)
            surplus.remove(right)
            if not (left.locations <= right.locations or right.locations <= left.locations):
                count("incorrect_location", left, right)
            if left.severity and right.severity and left.severity != right.severity:
                count("incorrect_severity", left, right)
        for code in surplus:
            count("false_prediction", code)
        for code in omitted:
            count("omission", code)
    return errors


def weights_from_codes(reference: Study, candidate: Study) -> FindingWeights:
    """Return the weights of a candidate's matched and wrong findings by the codes, from which its quality follows.

    Codes are compared like the facts of generated reports, see `compare_facts`: related findings are half right, and
    findings weigh by clinical significance. Codes without a finding of the vocabulary are left out.

    >>> study = Study("1", "Small effusion.", (("pleural effusion", "left", "small"),))
    >>> weights_from_codes(study, Study("2", "Blunted angle.", (("costophrenic angle", "left", "blunted"),)))
    FindingWeights(matched=0.125, wrong=0.125)
    """
    return compare_facts(reference.facts, candidate.facts).weights


def split_studies(studies: Iterable[Study], fraction: float, seed: int = 0) -> tuple[list[Study], list[Study]]:
    """Return training and held-out studies; equal texts stay in one split.

    Raises:
        ValueError: If `fraction` is not in [0, 1].

    >>> train, test = split_studies([Study(str(i), f"Report {i}.") for i in range(10)], 0.5)
    >>> len(train) + len(test)
    10
    """
    parts: tuple[list[Study], list[Study]] = ([], [])
    for study in studies:
        parts[is_held_out(study.text, fraction, f"studies {seed}")].append(study)
    return parts


def groups_from_codes(
    studies: Sequence[Study],
    criteria: Criteria,
    candidates_per_reference: int = 4,
    num_groups: int = 1000,
    seed: int = 0,
) -> Iterator[ReportGroup]:
    """Yield groups whose candidates are other studies: with a common finding, normal, or random; quality is known.

    `system` of a candidate states which. A group has candidates with different totals, and never the reference's text.

    Args:
        studies: References and candidates.
        criteria: The criteria of the errors; its tags must be among those of `errors_from_codes`.
        candidates_per_reference: Candidates per group.
        num_groups: Number of groups; a study may be the reference of several.
        seed: The same seed gives the same groups.

    Raises:
        ValueError: If `candidates_per_reference` is less than 2 or `num_groups` less than 1.
        InputError: If the codes cannot count a criterion, or the studies are too few or too similar.
    """
    if candidates_per_reference < 2:
        raise ValueError(f"Expected `candidates_per_reference` to be >= 2 but got {candidates_per_reference}.")
    if num_groups < 1:
        raise ValueError(f"Expected `num_groups` to be >= 1 but got {num_groups}.")
    tags = errors_from_codes(Study("", ""), Study("", ""))
    if unknown := [tag for tag in criteria.tags if tag not in tags]:
        raise InputError(f"Expected criteria that codes can count, {', '.join(tags)}, but got {unknown[0]!r}.")
    return _generate_groups(studies, criteria, candidates_per_reference, num_groups, np.random.default_rng(seed))


def write_coded_groups(
    csv_path: str | Path,
    output_folder: str | Path,
    criteria: Criteria,
    num_groups: int,
    candidates_per_reference: int,
    seed: int = 0,
) -> tuple[Path, Path]:
    """Write `train.parquet` (4/5 of the groups) and `test.parquet` (1/5, of other studies); return their paths.

    Raises:
        ValueError: If there are fewer than 2 groups or candidates.
        InputError: If the file is invalid, or has too few studies.
    """
    if num_groups < 2:
        raise ValueError(f"Expected `num_groups` to be >= 2 but got {num_groups}.")
    test = max(1, round(num_groups * TEST_FRACTION))
    paths = Path(output_folder) / "train.parquet", Path(output_folder) / "test.parquet"
    parts = split_studies(read_openi(csv_path), TEST_FRACTION, seed)
    for path, studies, count in zip(paths, parts, (num_groups - test, test), strict=True):
        write_groups(path, groups_from_codes(studies, criteria, candidates_per_reference, count, seed))
    return paths


def _parse_study(values: Mapping[str, Any]) -> Study:
    for field in ("MeSH", "findings", "impression"):
        if not isinstance(values.get(field) or "", str) or field not in values:
            raise RowError(f"field {field!r}: Expected a column of texts")
    paths = [tuple(part.strip().lower() for part in path.split("/")) for path in (values["MeSH"] or "").split(";")]
    return Study(
        text_field(values, "uid", allow_integer=True),
        " ".join(f"{values['findings'] or ''} {values['impression'] or ''}".split()),
        tuple(path for path in paths if path[0] and not path[0].startswith(NO_FINDING_PREFIXES)),
    )


def _code_similarity(left: MeSHCode, right: MeSHCode) -> int:
    shared, differing = len(left.locations & right.locations), len(left.locations ^ right.locations)
    return 2 * shared - differing - (left.severity != right.severity)


def _choose(pool: Sequence[T], rng: np.random.Generator) -> T:
    return pool[int(rng.integers(len(pool)))]


def _generate_groups(
    studies: Sequence[Study], criteria: Criteria, size: int, num_groups: int, rng: np.random.Generator
) -> Iterator[ReportGroup]:
    by_finding: dict[str, list[Study]] = {}
    for study in studies:
        for finding in study.codes or ("",):  # "": normal
            by_finding.setdefault(finding, []).append(study)
    for number in range(num_groups):
        for _ in range(MAX_GROUP_ATTEMPTS if studies else 0):
            reference = _choose(studies, rng)
            candidates = _sample_candidates(reference, studies, by_finding, criteria, size, rng)
            errors = [criteria.to_tensor(entry.errors or {}) for entry in candidates]
            if (
                len(candidates) == size
                and len({criteria.total(criteria.target_rewards(row)).item() for row in errors}) > 1
            ):
                yield ReportGroup(f"{reference.id}-{number}", reference.text, candidates)
                break
        else:
            raise InputError(
                f"Expected studies that differ enough for groups of {size} candidates, "
                f"but {MAX_GROUP_ATTEMPTS} samples from {len(studies)} studies gave none."
            )


def _sample_candidates(
    reference: Study,
    studies: Sequence[Study],
    by_finding: Mapping[str, Sequence[Study]],
    criteria: Criteria,
    size: int,
    rng: np.random.Generator,
) -> tuple[Candidate, ...]:
    """Return up to `size` candidates with different texts."""
    findings, chosen = list(reference.codes), dict[str, Candidate]()
    for _ in range(4 * size):  # the reference and repeated texts are sampled again
        if findings and rng.random() < SHARED_FINDING_FRACTION:
            system, pool = "shared finding", by_finding[_choose(findings, rng)]
        elif "" in by_finding and rng.random() < NORMAL_FRACTION:
            system, pool = "normal", by_finding[""]
        else:
            system, pool = "random", studies
        study = _choose(pool, rng)
        if study.text != reference.text and study.text not in chosen and len(chosen) < size:
            errors = errors_from_codes(reference, study)
            weights = weights_from_codes(reference, study)
            chosen[study.text] = Candidate(study.text, {tag: errors[tag] for tag in criteria.tags}, system, weights)
    return tuple(chosen.values())
