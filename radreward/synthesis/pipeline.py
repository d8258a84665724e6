"""Training data without a language model: groups of a reference and candidates whose errors are known."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal

from rich.progress import track

from radreward.criteria import Criteria
from radreward.data.records import write_groups
from radreward.data.tables import read_rows
from radreward.errors import InputError
from radreward.synthesis.annotate import LONGEST, annotate
from radreward.synthesis.candidates import (
    FEW,
    Draft,
    Styles,
    all_errors,
    any_report,
    check_criteria,
    chosen_errors,
    draft,
    like_report,
    with_bad_language,
)
from radreward.synthesis.facts import AnnotatedReport
from radreward.synthesis.pairings import Pool
from radreward.synthesis.style import brief_style, full_style, sample_style, statement_style
from radreward.types import Candidate, ReportGroup

TEXT_COLUMNS = ("report", "reference", "text")
SECTION_COLUMNS = ("findings", "impression")
LANGUAGE = frozenset({"grammar", "medical_terminology", "clinical_history"})
TRIES = 20
Length = Literal["statement", "report"]


def synthesize(
    criteria: Criteria,
    groups: int,
    per_reference: int = 3,
    seed: int = 0,
    reports: Sequence[str] | None = None,
    length: Length = "report",
) -> Iterator[ReportGroup]:
    """Groups of one reference and its candidates, from the grammar or from given reports.

    Every group has a random generator of its own, from the seed and its number: any part can be made again alone.
    Of given reports the references are taken in turn; what the lexicon does not know in them stays as it is.

    Args:
        criteria: By what errors are stated; any of the tags of RadCliQ, RadCliQSignificance and MRScore.
        groups: How many.
        per_reference: Candidates of each reference; tiers of quality take turns.
        seed: Decides everything.
        reports: Real reports to begin from, at least two.
        length: Of what the grammar writes: whole reports, half of them brief, or single statements. A model learns
            from statements what words mean, many to a batch, before it learns to read reports.

    Yields:
        Groups with at least two different totals.

    Raises:
        InputError: If the criteria have a tag that synthesis does not know, or need whole reports.

    >>> from radreward.criteria import RadCliQ
    >>> group = next(synthesize(RadCliQ(), 1, seed=1))
    >>> len(group.candidates), set(group.candidates[0].errors) == set(RadCliQ().tags)
    (3, True)
    """
    for name, value, least in (("groups", groups, 1), ("per_reference", per_reference, 2)):
        if value < least:
            raise ValueError(f"Expected `{name}` to be >= {least} but got {value}.")
    check_criteria(criteria)
    language = bool(LANGUAGE & set(criteria.tags))
    if length == "statement" and (language or reports is not None):
        raise InputError("length: Expected `report` for criteria that judge sections and for given reports.")
    annotated = [annotate(text) for text in reports] if reports is not None else None
    pool = Pool(annotated) if annotated is not None else None
    for number in range(groups):
        rng = Random(f"{seed}:{number}")
        index = number % len(annotated) if annotated else 0
        styles: Styles = statement_style if length == "statement" else rng.choice((brief_style, sample_style))
        if language:  # where history and impression are judged, they must be there
            styles = full_style
        yield _group(f"synthetic-{seed}-{number}", criteria, per_reference, styles, pool, index, rng)


def _group(
    name: str, criteria: Criteria, per_reference: int, styles: Styles, pool: Pool | None, index: int, rng: Random
) -> ReportGroup:
    if pool:
        reference = pool.reports[index]
        styles = brief_style if len(reference.sentences) <= FEW else sample_style
    else:
        reference = any_report(styles)(rng)
    for _ in range(TRIES):
        drafts = _drafts(reference, per_reference, pool, index, styles, rng)
        if styles is full_style:
            drafts = [with_bad_language(entry, rng) for entry in drafts]
        candidates = tuple(_candidate(reference, entry, criteria) for entry in drafts)
        totals = {float(criteria.total(criteria.quality(criteria.vector(c.errors or {})))) for c in candidates}
        if len(totals) > 1:
            return ReportGroup(name, reference.text, candidates)
    raise InputError(
        f"criteria {criteria.name}: no candidates with different totals could be made for the report "
        f"{reference.text[:80]!r}."
    )


def _drafts(
    reference: AnnotatedReport, per_reference: int, pool: Pool | None, index: int, styles: Styles, rng: Random
) -> list[Draft]:
    pool = pool if pool and pool.pairs else None
    others = (lambda rng: pool.random(index, rng)) if pool else any_report(styles)
    neighbours = (lambda rng: pool.neighbour(index, rng)) if pool else like_report(reference, styles)
    tiers = [(number + rng.randrange(3)) % 3 if number > 2 else number for number in range(per_reference)]
    drafts = [draft(reference, tier, others, neighbours, styles, rng) for tier in tiers]
    rng.shuffle(drafts)
    return drafts


def _candidate(reference: AnnotatedReport, entry: Draft, criteria: Criteria) -> Candidate:
    return Candidate(entry.report.text, chosen_errors(all_errors(reference, entry), criteria), entry.system)


def synthesize_files(
    output: Path,
    criteria: Criteria,
    groups: int,
    per_reference: int = 3,
    seed: int = 0,
    reports: Path | None = None,
    column: str | None = None,
    length: Length = "report",
) -> Path:
    """Write `groups.parquet` and a data card into a folder.

    Args:
        output: The folder.
        criteria: By what errors are stated.
        groups: How many groups.
        per_reference: Candidates of each reference.
        seed: Decides everything.
        reports: CSV, JSONL or Parquet of real reports; the grammar writes references where none are given.
        length: Of what the grammar writes.
        column: Where the text stands; otherwise `report`, `reference`, `text`, or `findings` and `impression`.

    Returns:
        The Parquet file.

    Raises:
        InputError: For reports that cannot be used, or criteria that synthesis cannot serve.
    """
    texts = read_reports(reports, column) if reports else None
    card = Card(criteria, seed, per_reference, reports.name if reports else None)
    stream = card.counted(synthesize(criteria, groups, per_reference, seed, texts, length))
    output.mkdir(parents=True, exist_ok=True)
    path = output / "groups.parquet"
    write_groups(path, track(stream, "Writing groups", total=groups))
    card.write(output)
    return path


def read_reports(path: Path, column: str | None = None) -> list[str]:
    """Texts of real reports, white space made single; rows without any text are left out.

    Raises:
        InputError: If the file cannot be read, has no column of text, or holds fewer than two reports; names file,
            row and field.
    """
    texts: list[str] = []
    for rows in read_rows(path):
        for row in rows:
            if row.problem:
                raise InputError(f"{path}, row {row.number}: {row.problem}.")
            text = _report_text(path, row.number, row.values, column)
            if text:
                texts.append(text)
    if len(texts) < 2:
        raise InputError(f"{path}: Expected at least two reports but got {len(texts)}.")
    return texts


def _report_text(path: Path, number: int, values: dict[str, Any], column: str | None) -> str:
    names = [column] if column else [next((name for name in TEXT_COLUMNS if name in values), "")]
    if not column and not names[0]:
        names = [name for name in SECTION_COLUMNS if name in values]
    if not names or any(name not in values for name in names):
        expected = column or f"{', '.join(TEXT_COLUMNS)}, or {' and '.join(SECTION_COLUMNS)}"
        raise InputError(f"{path}: Expected a column {expected} but got {', '.join(map(str, values))}.")
    parts = []
    for name in names:
        value = values[name]
        if value is not None and not isinstance(value, str):
            raise InputError(f"{path}, row {number}, field {name!r}: Expected text but got {value!r}.")
        parts.append(value or "")
    text = " ".join(" ".join(parts).split())
    if len(text) > LONGEST:
        where = f"{path}, row {number}, field {' and '.join(map(repr, names))}"
        raise InputError(f"{where}: Expected at most {LONGEST} characters but got {len(text)}.")
    return text


class Card:
    """Counts of what was made, and what it is."""

    def __init__(self, criteria: Criteria, seed: int, per_reference: int, source: str | None) -> None:
        self.criteria, self.seed, self.per_reference, self.source = criteria, seed, per_reference, source
        self.groups = 0
        self.systems: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.affected: Counter[str] = Counter()
        self.words: Counter[str] = Counter()

    def counted(self, groups: Iterable[ReportGroup]) -> Iterator[ReportGroup]:
        """The groups, counted on their way."""
        for group in groups:
            self.groups += 1
            self.words["reference"] += len(group.reference.split())
            for candidate in group.candidates:
                self.systems[candidate.system or "unknown"] += 1
                self.words["candidate"] += len(candidate.text.split())
                for tag, count in (candidate.errors or {}).items():
                    self.errors[tag] += int(count)
                    self.affected[tag] += count > 0
            yield group

    def values(self) -> dict[str, Any]:
        """The card as plain values."""
        candidates = sum(self.systems.values())
        return {
            "label": "SYNTHETIC: errors were made on purpose by rules; not for patient care",
            "source": self.source or "report grammar of radreward",
            "criteria": self.criteria.name,
            "seed": self.seed,
            "groups": self.groups,
            "candidates": candidates,
            "per_reference": self.per_reference,
            "systems": dict(sorted(self.systems.items())),
            "mean_words": {
                "reference": round(self.words["reference"] / self.groups, 1),
                "candidate": round(self.words["candidate"] / candidates, 1),
            },
            "errors": {
                tag: {"count": self.errors[tag], "candidates": self.affected[tag]} for tag in self.criteria.tags
            },
        }

    def write(self, folder: Path) -> None:
        """Write card.json and card.md."""
        values = self.values()
        (folder / "card.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        lines = ["# Data card", "", f"**{values['label']}.**", ""]
        lines += [f"- {key}: {values[key]}" for key in ("source", "criteria", "seed", "groups", "candidates")]
        lines += ["", "| criterion | errors | candidates with it |", "| --- | ---: | ---: |"]
        lines += [f"| {tag} | {row['count']} | {row['candidates']} |" for tag, row in values["errors"].items()]
        lines += ["", "| made by | candidates |", "| --- | ---: |"]
        lines += [f"| {name} | {count} |" for name, count in values["systems"].items()]
        (folder / "card.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
