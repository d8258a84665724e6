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

from radreward.criteria import ERROR_TYPES, Criteria
from radreward.data.records import RowError, text_field, write_groups
from radreward.data.split import held_out
from radreward.errors import InputError
from radreward.io.tables import read_rows
from radreward.types import Candidate, ReportGroup

logger = logging.getLogger(__name__)

T = TypeVar("T")

DEGREES = frozenset({"mild", "moderate", "severe", "large", "small", "borderline", "prominent", "enlarged"})
"""Qualifiers that say how much; every other qualifier is read as saying where."""

NO_FINDING = ("normal", "no indexing", "technical quality")
"""Beginnings of heads that code no finding."""

BENIGN_HEADS = frozenset(
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

SHARED, NORMAL = 0.6, 0.3
"""Of the candidates, these share a head with the reference; of the others, these are drawn from the normal studies."""

TEST_FRACTION = 0.2
ATTEMPTS = 100
"""Draws for one group before the studies are said to be too few."""


class Code(NamedTuple):
    """One coded finding."""

    head: str
    places: frozenset[str] = frozenset()
    degrees: frozenset[str] = frozenset()

    @property
    def significant(self) -> bool:
        """Whether an error in it matters for the patient's care, by our tables."""
        return self.head not in BENIGN_HEADS and not any((self.head, place) in BENIGN_CODES for place in self.places)


class Study(NamedTuple):
    """A report and its codes; no codes: a normal study."""

    id: str
    text: str
    paths: tuple[tuple[str, ...], ...] = ()
    """Head and qualifiers of each code, lower case."""

    @property
    def codes(self) -> dict[str, list[Code]]:
        """The codes by head."""
        found: dict[str, list[Code]] = {}
        for head, *rest in self.paths:
            qualifiers = frozenset(rest)
            found.setdefault(head, []).append(Code(head, qualifiers - DEGREES, qualifiers & DEGREES))
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
                if row.problem:
                    raise RowError(row.problem)
                study = _study(row.values)
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


def coded_errors(reference: Study, candidate: Study) -> dict[str, float]:
    """Errors of a candidate by the codes, for the tags of `RadCliQ` and of `RadCliQSignificance`.

    Codes of one head are matched best first. A code of the candidate that is left is a false prediction, one of the
    reference an omission; a matched pair may differ in place and in degree. The codes know no earlier study, so there
    are no errors of comparison. An error is significant if a code it concerns is.

    >>> study = Study("1", "Small effusion.", (("pleural effusion", "left", "small"),))
    >>> errors = coded_errors(study, Study("2", "Large effusion.", (("pleural effusion", "left", "large"),)))
    >>> {tag: count for tag, count in errors.items() if count}
    {'incorrect_severity': 1.0, 'significant_incorrect_severity': 1.0}
    """
    tags = [entry.tag for entry in ERROR_TYPES]
    errors = {prefix + tag: 0.0 for prefix in ("", "significant_", "insignificant_") for tag in tags}

    def count(tag: str, *codes: Code) -> None:
        errors[tag] += 1
        errors[f"{'significant' if any(code.significant for code in codes) else 'insignificant'}_{tag}"] += 1

    wanted, given = reference.codes, candidate.codes
    for head in sorted(wanted.keys() | given.keys()):
        omitted, surplus = list(wanted.get(head, [])), list(given.get(head, []))
        while omitted and surplus:
            ours, theirs = max(product(omitted, surplus), key=lambda pair: _likeness(*pair))
            omitted.remove(ours)
            surplus.remove(theirs)
            if ours.places != theirs.places:
                count("incorrect_location", ours, theirs)
            if ours.degrees != theirs.degrees:
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
        parts[held_out(study.text, fraction, f"studies {seed}")].append(study)
    return parts


def coded_groups(
    studies: Sequence[Study], criteria: Criteria, per_reference: int = 4, groups: int = 1000, seed: int = 0
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
    if per_reference < 2:
        raise ValueError(f"Expected `per_reference` to be >= 2 but got {per_reference}.")
    if groups < 1:
        raise ValueError(f"Expected `groups` to be >= 1 but got {groups}.")
    known = coded_errors(Study("", ""), Study("", ""))
    if unknown := [tag for tag in criteria.tags if tag not in known]:
        raise InputError(f"Expected criteria that codes can count, {', '.join(known)}, but got {unknown[0]!r}.")
    return _groups(studies, criteria, per_reference, groups, np.random.default_rng(seed))


def write_coded(
    path_csv: str | Path, output_folder: str | Path, criteria: Criteria, groups: int, per_reference: int, seed: int = 0
) -> tuple[Path, Path]:
    """Write `train.parquet` (4/5 of the groups) and `test.parquet` (1/5, of studies of its own); returns their paths.

    Raises:
        ValueError: If there are fewer than 2 groups or candidates.
        InputError: If the file cannot be used, or has too few studies.
    """
    if groups < 2:
        raise ValueError(f"Expected `groups` to be >= 2 but got {groups}.")
    test = max(1, round(groups * TEST_FRACTION))
    paths = Path(output_folder) / "train.parquet", Path(output_folder) / "test.parquet"
    parts = split_studies(read_openi(path_csv), TEST_FRACTION, seed)
    for path, studies, count in zip(paths, parts, (groups - test, test), strict=True):
        write_groups(path, coded_groups(studies, criteria, per_reference, count, seed))
    return paths


def _study(values: Mapping[str, Any]) -> Study:
    for field in ("MeSH", "findings", "impression"):
        if not isinstance(values.get(field) or "", str) or field not in values:
            raise RowError(f"field {field!r}: expected a column of texts")
    paths = [tuple(part.strip().lower() for part in path.split("/")) for path in (values["MeSH"] or "").split(";")]
    return Study(
        text_field(values, "uid", number=True),
        " ".join(f"{values['findings'] or ''} {values['impression'] or ''}".split()),
        tuple(path for path in paths if path[0] and not path[0].startswith(NO_FINDING)),
    )


def _likeness(ours: Code, theirs: Code) -> int:
    shared, differing = len(ours.places & theirs.places), len(ours.places ^ theirs.places)
    return 2 * shared - differing - len(ours.degrees ^ theirs.degrees)


def _one(pool: Sequence[T], rng: np.random.Generator) -> T:
    return pool[int(rng.integers(len(pool)))]


def _groups(
    studies: Sequence[Study], criteria: Criteria, size: int, groups: int, rng: np.random.Generator
) -> Iterator[ReportGroup]:
    by_head: dict[str, list[Study]] = {}
    for study in studies:
        for head in study.codes or ("",):  # "": normal
            by_head.setdefault(head, []).append(study)
    for number in range(groups):
        for _ in range(ATTEMPTS if studies else 0):
            reference = _one(studies, rng)
            candidates = _candidates(reference, studies, by_head, criteria, size, rng)
            errors = [criteria.vector(entry.errors or {}) for entry in candidates]
            if len(candidates) == size and len({criteria.total(criteria.quality(row)).item() for row in errors}) > 1:
                yield ReportGroup(f"{reference.id}-{number}", reference.text, candidates)
                break
        else:
            raise InputError(
                f"Expected studies that differ enough for groups of {size} candidates, "
                f"but {ATTEMPTS} draws from {len(studies)} studies gave none."
            )


def _candidates(
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
        if heads and rng.random() < SHARED:
            system, pool = "shared head", by_head[_one(heads, rng)]
        elif "" in by_head and rng.random() < NORMAL:
            system, pool = "normal", by_head[""]
        else:
            system, pool = "random", studies
        study = _one(pool, rng)
        if study.text != reference.text and study.text not in chosen and len(chosen) < size:
            errors = coded_errors(reference, study)
            chosen[study.text] = Candidate(study.text, {tag: errors[tag] for tag in criteria.tags}, system)
    return tuple(chosen.values())
