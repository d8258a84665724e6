"""Training data without a language model: groups of a reference and candidates whose errors are known."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from rich.progress import track

from radreward.criteria import Criteria
from radreward.data.records import write_groups
from radreward.errors import InputError
from radreward.synthesis.candidate_pairing import ReportPool
from radreward.synthesis.candidates import (
    SHORT_REPORT_SENTENCES,
    CandidateDraft,
    StyleSampler,
    add_language_errors,
    check_criteria,
    count_all_errors,
    draft_candidate,
    random_report_source,
    select_errors,
    similar_report_source,
)
from radreward.synthesis.data_card import DataCard
from radreward.synthesis.report_reader import parse_editable_report, read_reports
from radreward.synthesis.report_styles import (
    FrequentChoiceRandom,
    brief_style,
    full_style,
    plain_style,
    sample_style,
    statement_style,
)
from radreward.text.facts import AnnotatedReport
from radreward.types import Candidate, ReportGroup

logger = logging.getLogger(__name__)
Granularity = Literal["statement", "plain", "report"]
LANGUAGE_CRITERIA = frozenset({"grammar", "medical_terminology", "clinical_history"})
MAX_CANDIDATE_TRIES, MAX_REFERENCE_TRIES = 20, 100
"""How often candidates are drawn for a reference until their totals differ, and references until there are any."""


def synthesize(
    criteria: Criteria,
    groups: int,
    per_reference: int = 3,
    seed: int = 0,
    reports: Sequence[str] | None = None,
    granularity: Granularity = "report",
    max_findings: int | None = None,
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
            from statements what words mean, many to a batch, before it learns to read reports; and from a few
            findings in plain words to read at all, where it begins from nothing.
        most: Most findings of a plain report, 4 where nothing is given. A model that begins from nothing learns many
            times sooner from one finding first, then two, then all.

    Returns:
        Groups with at least two different totals, made one by one.

    Raises:
        ValueError: If `groups` or `most` is less than 1, or `per_reference` less than 2.
        InputError: If the criteria have a tag that synthesis does not know or need whole reports, in no report can
            errors be made by them, or a given report is too long or has neither findings nor impression.

    >>> from radreward.criteria import RadCliQ
    >>> group = next(synthesize(RadCliQ(), 1, seed=1))
    >>> len(group.candidates), set(group.candidates[0].errors) == set(RadCliQ().tags)
    (3, True)
    """
    for name, value, least in (
        ("groups", groups, 1),
        ("per_reference", per_reference, 2),
        ("most", max_findings or 4, 1),
    ):
        if value < least:
            raise ValueError(f"Expected `{name}` to be >= {least} but got {value}.")
    check_criteria(criteria)
    language = bool(LANGUAGE_CRITERIA & set(criteria.tags))
    if granularity != "report" and (language or reports is not None):
        raise InputError("length: Expected `report` for given reports and for criteria that judge sections.")
    if max_findings is not None and granularity != "plain":
        raise InputError("most: Expected `length` to be plain, whose findings are counted.")
    pool = ReportPool(_parse_reports(reports)) if reports is not None else None
    return _generate_groups(
        criteria, groups, per_reference, seed, GenerationSettings(language, granularity, max_findings), pool
    )


class GenerationSettings(NamedTuple):
    """What candidates and the grammar's references are to be like."""

    judges_language: bool
    """Whether history and impression are judged, and have to be there."""
    granularity: Granularity
    max_findings: int | None

    def style_sampler(self, rng: Random) -> StyleSampler:
        """How a reference and its candidates are written."""
        if self.judges_language:
            return full_style
        if self.granularity == "statement":
            return statement_style
        if self.granularity == "plain":
            return partial(plain_style, max_findings=self.max_findings or 4)
        return rng.choice((brief_style, sample_style))


def _generate_groups(
    criteria: Criteria, groups: int, per_reference: int, seed: int, writing: GenerationSettings, pool: ReportPool | None
) -> Iterator[ReportGroup]:
    for number in range(groups):
        rng = FrequentChoiceRandom(f"{seed}:{number}") if writing.granularity == "plain" else Random(f"{seed}:{number}")
        index = number % len(pool.reports) if pool else 0
        yield _generate_group(f"synthetic-{seed}-{number}", criteria, per_reference, writing, pool, index, rng)


def _parse_reports(reports: Sequence[str]) -> list[AnnotatedReport]:
    annotated = []
    for number, text in enumerate(reports):
        try:
            annotated.append(parse_editable_report(text))
        except ValueError as error:
            raise InputError(f"reports[{number}]: {error}") from error
    return annotated


def _generate_group(
    name: str,
    criteria: Criteria,
    per_reference: int,
    writing: GenerationSettings,
    pool: ReportPool | None,
    index: int,
    rng: Random,
) -> ReportGroup:
    for _ in range(MAX_REFERENCE_TRIES):  # a normal chest, say, has no place to be wrong about
        reference, styles = _sample_reference(writing, pool, index, rng)
        for _ in range(MAX_CANDIDATE_TRIES):
            drafts = _draft_candidates(reference, per_reference, pool, index, styles, rng)
            if writing.judges_language:
                drafts = [add_language_errors(entry, rng) for entry in drafts]
            candidates = tuple(_to_candidate(reference, entry, criteria) for entry in drafts)
            # Equal to six digits is equal: pairs are made of totals in float32.
            totals = {round(criteria.weighted_errors(c.errors or {}), 6) for c in candidates}
            if len(totals) > 1:
                return ReportGroup(name, reference.text, candidates)
    raise InputError(
        f"criteria {criteria.name}: no candidates with different totals could be made for the report "
        f"{reference.text[:80]!r}."
    )


def _sample_reference(
    writing: GenerationSettings, pool: ReportPool | None, index: int, rng: Random
) -> tuple[AnnotatedReport, StyleSampler]:
    """A report to judge against, and in which styles others are written: for a brief one brief ones."""
    if pool:
        reference = pool.reports[index]
        return reference, brief_style if len(reference.sentences) <= SHORT_REPORT_SENTENCES else sample_style
    styles = writing.style_sampler(rng)
    report = random_report_source(styles)(rng)
    while writing.granularity == "plain" and not any(fact.positive for fact in report.facts):
        report = random_report_source(styles)(rng)
    return report, styles


def _draft_candidates(
    reference: AnnotatedReport,
    per_reference: int,
    pool: ReportPool | None,
    index: int,
    styles: StyleSampler,
    rng: Random,
) -> list[CandidateDraft]:
    pool = pool if pool and pool.can_pair else None
    others = (lambda rng: pool.sample_other(index, rng)) if pool else random_report_source(styles)
    neighbours = (lambda rng: pool.sample_neighbor(index, rng)) if pool else similar_report_source(reference, styles)
    tiers = [(number + rng.randrange(3)) % 3 if number > 2 else number for number in range(per_reference)]
    drafts = [draft_candidate(reference, tier, others, neighbours, styles, rng) for tier in tiers]
    rng.shuffle(drafts)
    return drafts


def _to_candidate(reference: AnnotatedReport, entry: CandidateDraft, criteria: Criteria) -> Candidate:
    return Candidate(entry.report.text, select_errors(count_all_errors(reference, entry), criteria), entry.system)


def synthesize_files(
    output: Path,
    criteria: Criteria,
    groups: int,
    per_reference: int = 3,
    seed: int = 0,
    reports: Path | None = None,
    text_column: str | None = None,
    granularity: Granularity = "report",
    max_findings: int | None = None,
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
        most: Most findings of a plain report.
        column: Where the text stands; otherwise `report`, `reference`, `text`, or `findings` and `impression`.

    Returns:
        The Parquet file.

    Raises:
        InputError: For reports that cannot be used, or criteria that synthesis cannot serve.
    """
    real = read_reports(reports, text_column) if reports else None
    if real and real.empty_rows:
        logger.warning(
            "%s: %d rows without text are left out, first row %d.", reports, len(real.empty_rows), real.empty_rows[0]
        )
    card = DataCard(criteria, seed, per_reference, reports.name if reports else None, real)
    stream = card.count_groups(
        synthesize(criteria, groups, per_reference, seed, real and real.texts, granularity, max_findings)
    )
    output.mkdir(parents=True, exist_ok=True)
    path = output / "groups.parquet"
    write_groups(path, track(stream, "Writing groups", total=groups))
    card.write(output)
    return path
