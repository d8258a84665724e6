"""Open-i chest X-ray reports with expert codes: real wording whose differences are counted from the codes.

A code is a path, `Opacity/lung/base/left/mild`: a head, then qualifiers. The collection (Demner-Fushman et al. 2016,
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

from radreward.criteria import RADCLIQ_ERROR_TYPES, Criteria
from radreward.data.records import write_groups
from radreward.data.split import is_held_out
from radreward.errors import InputError
from radreward.io.tables import read_rows
from radreward.io.validated_rows import RowError, text_field
from radreward.types import Candidate, ReportGroup

logger = logging.getLogger(__name__)

T = TypeVar("T")

SEVERITY_QUALIFIERS = frozenset({"mild", "moderate", "severe", "large", "small", "borderline", "prominent", "enlarged"})
"""Qualifiers that say how much; every other qualifier is read as saying where."""

NO_FINDING_PREFIXES = ("normal", "no indexing", "technical quality")
"""Beginnings of heads that code no finding."""

BENIGN_HEADINGS = frozenset(
    {
        *("calcinosis", "calcified granuloma", "granuloma", "granulomatous disease", "cicatrix", "atherosclerosis"),
        *("spine", "thoracic vertebrae", "lumbar vertebrae", "cervical vertebrae", "scoliosis", "kyphosis"),
        *("osteophyte", "spondylosis", "spinal fusion", "hyperostosis, diffuse idiopathic skeletal", "arthritis"),
        *("deformity", "funnel chest", "pectus carinatum", "shoulder", "sclerosis", "bone diseases, metabolic"),
        *("osteoporosis", "diaphragmatic eventration", "hernia, hiatal", "epicardial fat", "adipose tissue"),
        *("nipple shadow", "surgical instruments", "implanted medical device", "medical device", "sutures", "stents"),
        *("breast implants", "mastectomy", "contrast media", "colonic interposition", "cholelithiasis"),
    }
)
"""Heads of what is old, degenerative, a variant or left by a treatment: our judgement, not part of the codes."""

BENIGN_CODES = frozenset(
    {("aorta", "tortuous"), ("aorta, thoracic", "tortuous"), ("fractures, bone", "healed"), ("lung", "hypoinflation")}
)
"""Heads that are benign with this qualifier only."""

SHARED_HEADING_FRACTION, NORMAL_FRACTION = 0.6, 0.3
"""Of the candidates, these share a head with the reference; of the others, these are drawn from the normal studies."""

TEST_FRACTION = 0.2
MAX_GROUP_ATTEMPTS = 100
"""Draws for one group before the studies are said to be too few."""


class MeSHCode(NamedTuple):
    """One coded finding."""

    heading: str
    locations: frozenset[str] = frozenset()
    severities: frozenset[str] = frozenset()

    @property
    def is_significant(self) -> bool:
        """Whether an error in it matters for the patient's care, by our tables."""
        return self.heading not in BENIGN_HEADINGS and not any(
            (self.heading, place) in BENIGN_CODES for place in self.locations
        )


class Study(NamedTuple):
    """A report and its codes; no codes: a normal study."""

    id: str
    text: str
    code_paths: tuple[tuple[str, ...], ...] = ()
    """Head and qualifiers of each code, lower case."""

    @property
    def codes(self) -> dict[str, list[MeSHCode]]:
        """The codes by head."""
        found: dict[str, list[MeSHCode]] = {}
        for head, *rest in self.code_paths:
            qualifiers = frozenset(rest)
            found.setdefault(head, []).append(
                MeSHCode(head, qualifiers - SEVERITY_QUALIFIERS, qualifiers & SEVERITY_QUALIFIERS)
            )
        return found


def read_openi(path: str | Path) -> Iterator[Study]:
    """Studies in the order of the file; those without findings and impression are skipped, counted and logged.

    The text is findings and impression, one white space between words.

    Raises:
        InputError: If the file cannot be read, a column is missing, or a uid is empty or there twice.
    """
    skipped, ids = 0, set()
    for batch in read_rows(path):
        for row in batch:
            try:
                if row.error:
                    raise RowError(row.error)
                study = _parse_study(row.values)
                if study.id in ids:
                    raise RowError(f"field 'uid': expected a new uid but {study.id!r} was there before")
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
    """Errors of a candidate by the codes, for the tags of `RadCliQ` and of `RadCliQSignificanceCriteria`.

    Codes of one head are matched best first. A code of the candidate that is left is a false prediction, one of the
    reference an omission; a matched pair may differ in place and in degree. The codes know no earlier study, so there
    are no errors of comparison. An error is significant if a code it concerns is.

    >>> study = Study("1", "Small effusion.", (("pleural effusion", "left", "small"),))
    >>> errors = coded_errors(study, Study("2", "Large effusion.", (("pleural effusion", "left", "large"),)))
    >>> {tag: count for tag, count in errors.items() if count}
    {'incorrect_severity': 1.0, 'significant_incorrect_severity': 1.0}
    """
    tags = [entry.tag for entry in RADCLIQ_ERROR_TYPES]
    errors = {prefix + tag: 0.0 for prefix in ("", "significant_", "insignificant_") for tag in tags}

    def count(tag: str, *codes: MeSHCode) -> None:
        errors[tag] += 1
        errors[f"{'significant' if any(code.is_significant for code in codes) else 'insignificant'}_{tag}"] += 1

    wanted, given = reference.codes, candidate.codes
    for head in sorted(wanted.keys() | given.keys()):
        omitted, surplus = list(wanted.get(head, [])), list(given.get(head, []))
        while omitted and surplus:
            ours, theirs = max(product(omitted, surplus), key=lambda pair: _code_similarity(*pair))
            omitted.remove(ours)
            surplus.remove(theirs)
            if ours.locations != theirs.locations:
                count("incorrect_location", ours, theirs)
            if ours.severities != theirs.severities:
                count("incorrect_severity", ours, theirs)
        for code in surplus:
            count("false_prediction", code)
        for code in omitted:
            count("omission", code)
    return errors


def split_studies(studies: Iterable[Study], fraction: float, seed: int = 0) -> tuple[list[Study], list[Study]]:
    """Studies to train on and held out; equal texts stay together.

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
    """Groups whose candidates are other studies: sharing a head with the reference, normal, or any.

    `system` of a candidate says which. A group has candidates with different totals, and never the reference's text.

    Args:
        studies: References and candidates.
        criteria: Which errors are stated; its tags must be among those of `coded_errors`.
        per_reference: Candidates of a group.
        groups: How many groups; a study may be the reference of several.
        seed: The same seed gives the same groups.

    Raises:
        ValueError: If `per_reference` is less than 2 or `groups` less than 1.
        InputError: If the codes do not count a criterion, or the studies are too few or too alike.
    """
    if candidates_per_reference < 2:
        raise ValueError(f"Expected `per_reference` to be >= 2 but got {candidates_per_reference}.")
    if num_groups < 1:
        raise ValueError(f"Expected `groups` to be >= 1 but got {num_groups}.")
    known = errors_from_codes(Study("", ""), Study("", ""))
    if unknown := [tag for tag in criteria.tags if tag not in known]:
        raise InputError(f"Expected criteria that codes can count, {', '.join(known)}, but got {unknown[0]!r}.")
    return _generate_groups(studies, criteria, candidates_per_reference, num_groups, np.random.default_rng(seed))


def write_coded_groups(
    csv_path: str | Path,
    output_folder: str | Path,
    criteria: Criteria,
    num_groups: int,
    candidates_per_reference: int,
    seed: int = 0,
) -> tuple[Path, Path]:
    """Write `train.parquet` (4/5 of the groups) and `test.parquet` (1/5, of studies of its own); returns their paths.

    Raises:
        ValueError: If there are fewer than 2 groups or candidates.
        InputError: If the file cannot be used, or has too few studies.
    """
    if num_groups < 2:
        raise ValueError(f"Expected `groups` to be >= 2 but got {num_groups}.")
    test = max(1, round(num_groups * TEST_FRACTION))
    paths = Path(output_folder) / "train.parquet", Path(output_folder) / "test.parquet"
    parts = split_studies(read_openi(csv_path), TEST_FRACTION, seed)
    for path, studies, count in zip(paths, parts, (num_groups - test, test), strict=True):
        write_groups(path, groups_from_codes(studies, criteria, candidates_per_reference, count, seed))
    return paths


def _parse_study(values: Mapping[str, Any]) -> Study:
    for field in ("MeSH", "findings", "impression"):
        if not isinstance(values.get(field) or "", str) or field not in values:
            raise RowError(f"field {field!r}: expected a column of texts")
    paths = [tuple(part.strip().lower() for part in path.split("/")) for path in (values["MeSH"] or "").split(";")]
    return Study(
        text_field(values, "uid", allow_integer=True),
        " ".join(f"{values['findings'] or ''} {values['impression'] or ''}".split()),
        tuple(path for path in paths if path[0] and not path[0].startswith(NO_FINDING_PREFIXES)),
    )


def _code_similarity(ours: MeSHCode, theirs: MeSHCode) -> int:
    shared, differing = len(ours.locations & theirs.locations), len(ours.locations ^ theirs.locations)
    return 2 * shared - differing - len(ours.severities ^ theirs.severities)


def _choose(pool: Sequence[T], rng: np.random.Generator) -> T:
    return pool[int(rng.integers(len(pool)))]


def _generate_groups(
    studies: Sequence[Study], criteria: Criteria, size: int, num_groups: int, rng: np.random.Generator
) -> Iterator[ReportGroup]:
    by_head: dict[str, list[Study]] = {}
    for study in studies:
        for head in study.codes or ("",):  # "": normal
            by_head.setdefault(head, []).append(study)
    for number in range(num_groups):
        for _ in range(MAX_GROUP_ATTEMPTS if studies else 0):
            reference = _choose(studies, rng)
            candidates = _sample_candidates(reference, studies, by_head, criteria, size, rng)
            errors = [criteria.to_tensor(entry.errors or {}) for entry in candidates]
            if (
                len(candidates) == size
                and len({criteria.total_quality(criteria.quality(row)).item() for row in errors}) > 1
            ):
                yield ReportGroup(f"{reference.id}-{number}", reference.text, candidates)
                break
        else:
            raise InputError(
                f"Expected studies that differ enough for groups of {size} candidates, "
                f"but {MAX_GROUP_ATTEMPTS} draws from {len(studies)} studies gave none."
            )


def _sample_candidates(
    reference: Study,
    studies: Sequence[Study],
    by_head: Mapping[str, Sequence[Study]],
    criteria: Criteria,
    size: int,
    rng: np.random.Generator,
) -> tuple[Candidate, ...]:
    """Up to `size` candidates with texts of their own."""
    heads, chosen = list(reference.codes), dict[str, Candidate]()
    for _ in range(4 * size):  # a draw that is the reference, or was drawn before, is drawn again
        if heads and rng.random() < SHARED_HEADING_FRACTION:
            system, pool = "shared head", by_head[_choose(heads, rng)]
        elif "" in by_head and rng.random() < NORMAL_FRACTION:
            system, pool = "normal", by_head[""]
        else:
            system, pool = "random", studies
        study = _choose(pool, rng)
        if study.text != reference.text and study.text not in chosen and len(chosen) < size:
            errors = errors_from_codes(reference, study)
            chosen[study.text] = Candidate(study.text, {tag: errors[tag] for tag in criteria.tags}, system)
    return tuple(chosen.values())
