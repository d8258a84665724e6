"""Training data without a language model: groups of a reference and candidates whose errors are known."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Literal

from rich.progress import track

from radreward.criteria import Criteria
from radreward.data.records import write_groups
from radreward.errors import InputError
from radreward.synthesis.candidate_pairing import ReportPool
from radreward.synthesis.candidates import (
    SHORT_REPORT_SENTENCES,
    CandidateDraft,
    check_criteria,
    draft_candidate,
    random_report_source,
    similar_report_source,
)
from radreward.synthesis.data_card import DataCard
from radreward.synthesis.report_reader import parse_editable_report, read_reports
from radreward.synthesis.report_styles import (
    FrequentChoiceRandom,
    StyleSampler,
    brief_style,
    elaborate_style,
    full_style,
    large_style,
    mixed_style,
    plain_style,
    sample_style,
    statement_style,
)
from radreward.synthesis.tiered_writer import (
    NUM_TIERS,
    OPEN_TIER,
    DraftedGroup,
    TieredCandidate,
    TieredWriter,
    is_limited,
)
from radreward.text.facts import AnnotatedReport
from radreward.types import ReportGroup

logger = logging.getLogger(__name__)
Granularity = Literal["statement", "plain", "report"]
LANGUAGE_CRITERIA = frozenset({"grammar", "medical_terminology", "clinical_history"})
MAX_CANDIDATE_TRIES = 20
"""Number of candidate sets drafted for a reference until their totals differ."""
MAX_REFERENCE_TRIES = 100
"""Number of references sampled until such candidates exist; a normal chest, say, has no location to be wrong about."""
_DEFAULT_MAX_FINDINGS = 4
OPEN_SHARE = 0.3
"""Share of the bad candidates with any number of errors instead of five or six."""
_DEFAULT_GROUPS = 10_000


def synthesize(
    criteria: Criteria,
    groups: int,
    per_reference: int = 3,
    seed: int = 0,
    reports: Sequence[str] | None = None,
    granularity: Granularity = "report",
    max_findings: int | None = None,
) -> Iterator[ReportGroup]:
    """Return groups of one reference and its candidates, from the grammar or from given reports.

    A group depends on the seed and its number only. Given reports are references in turn; unparsed text is unchanged.

    Args:
        criteria: Criteria of the error counts; any tags of RadCliQ, RadCliQ with significance, CRIMSON and MRScore.
        groups: Number of groups.
        per_reference: Number of candidates per reference, of alternating tiers of quality.
        seed: Seed of all sampling.
        reports: Real reports to use as references, at least two.
        granularity: Complete reports, a quarter each brief, of usual length, with five to eight findings, and in the
            style of report generators; single statements, from which a model learns wording faster; or a few findings
            in plain words, for a model trained from scratch.
        max_findings: Maximum number of findings of a plain report, 4 by default.

    Returns:
        Groups with at least two different totals, generated lazily.

    Raises:
        ValueError: If `groups` or `max_findings` is less than 1, or `per_reference` less than 2.
        InputError: If synthesis does not support the criteria, the options contradict each other, or no error can be
            made in a report.

    >>> from radreward.criteria import RadCliQCriteria
    >>> group = next(synthesize(RadCliQCriteria(), 1, seed=1))
    >>> len(group.candidates), set(group.candidates[0].errors) == set(RadCliQCriteria().tags)
    (3, True)
    """
    drafted = _draft_groups(criteria, groups, per_reference, seed, reports, granularity, max_findings)
    return (entry.group for entry in drafted)


def _draft_groups(
    criteria: Criteria,
    groups: int,
    per_reference: int,
    seed: int,
    reports: Sequence[str] | None,
    granularity: Granularity,
    max_findings: int | None,
) -> Iterator[DraftedGroup]:
    """Return groups with the tiers of their candidates, see `synthesize`."""
    limit = _DEFAULT_MAX_FINDINGS if max_findings is None else max_findings
    for name, value, minimum in (
        ("groups", groups, 1),
        ("per_reference", per_reference, 2),
        ("max_findings", limit, 1),
    ):
        if value < minimum:
            raise ValueError(f"Expected `{name}` to be >= {minimum} but got {value}.")
    check_criteria(criteria)
    judges_language = bool(LANGUAGE_CRITERIA & set(criteria.tags))
    if granularity != "report" and (judges_language or reports is not None):
        raise InputError("granularity: Expected `report` for given reports and for criteria that judge sections.")
    if max_findings is not None and granularity != "plain":
        raise InputError("max_findings: Expected `granularity` to be `plain`, which limits the number of findings.")
    generator = _GroupGenerator(
        criteria=criteria,
        per_reference=per_reference,
        seed=seed,
        granularity=granularity,
        max_findings=limit,
        judges_language=judges_language,
        pool=ReportPool(_parse_reports(reports)) if reports is not None else None,
    )
    return map(generator.generate, range(groups))


def _parse_reports(reports: Sequence[str]) -> list[AnnotatedReport]:
    parsed = []
    for number, text in enumerate(reports):
        try:
            parsed.append(parse_editable_report(text))
        except ValueError as error:
            raise InputError(f"reports[{number}]: {error}") from error
    return parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class _GroupGenerator:
    """Generator of single groups from their numbers."""

    criteria: Criteria
    per_reference: int
    seed: int
    granularity: Granularity
    max_findings: int
    judges_language: bool
    """True if history and impression are judged and must exist."""
    pool: ReportPool | None

    def generate(self, number: int) -> DraftedGroup:
        kind = FrequentChoiceRandom if self.granularity == "plain" else Random
        rng = kind(f"{self.seed}:{number}")
        index = number % len(self.pool.reports) if self.pool else 0
        for _ in range(MAX_REFERENCE_TRIES):
            reference, style_sampler = self._sample_reference(index, rng)
            for _ in range(MAX_CANDIDATE_TRIES):
                drafts = self._draft_candidates(reference, index, style_sampler, rng)
                candidates = tuple(draft.candidate for draft in drafts)
                # Rounded, because training compares totals in float32.
                totals = {round(self.criteria.weighted_errors(entry.errors or {}), 6) for entry in candidates}
                if len(totals) > 1:
                    group = ReportGroup(f"synthetic-{self.seed}-{number}", reference.text, candidates)
                    return DraftedGroup(group, tuple(drafts), is_limited(reference))
        raise InputError(
            f"criteria {self.criteria.name}: no candidates with different totals could be generated for the report "
            f"{reference.text[:80]!r}."
        )

    def _style_sampler(self, rng: Random) -> StyleSampler:
        if self.judges_language:
            return full_style
        if self.granularity == "statement":
            return statement_style
        if self.granularity == "plain":
            return partial(plain_style, max_findings=self.max_findings)
        return rng.choice((brief_style, sample_style, large_style, elaborate_style))

    def _sample_reference(self, index: int, rng: Random) -> tuple[AnnotatedReport, StyleSampler]:
        """Return a reference and the styles of its candidates, brief ones for a brief reference."""
        if self.pool:
            reference = self.pool.reports[index]
            if len(reference.sentences) <= SHORT_REPORT_SENTENCES:
                return reference, brief_style
            return reference, mixed_style
        style_sampler = self._style_sampler(rng)
        report = random_report_source(style_sampler)(rng)
        while self.granularity == "plain" and not any(fact.positive for fact in report.facts):
            report = random_report_source(style_sampler)(rng)
        return report, style_sampler

    def _draft_candidates(
        self, reference: AnnotatedReport, index: int, style_sampler: StyleSampler, rng: Random
    ) -> list[TieredCandidate]:
        other, neighbor = random_report_source(style_sampler), similar_report_source(reference, style_sampler)
        if self.pool and self.pool.can_pair:
            other, neighbor = partial(self.pool.sample_other, index), partial(self.pool.sample_neighbor, index)

        is_any_style = style_sampler in (sample_style, large_style, elaborate_style)
        rewritten_style = mixed_style if is_any_style else style_sampler

        def draft(tier: int, rng: Random) -> CandidateDraft:
            return draft_candidate(reference, tier, other, neighbor, rewritten_style, rng)

        writer = TieredWriter(self.criteria, reference, draft, self.judges_language)
        candidates = [writer.write(self._sample_tier(number, rng), rng) for number in range(self.per_reference)]
        rng.shuffle(candidates)
        return candidates

    def _sample_tier(self, number: int, rng: Random) -> int:
        """Return the tier of a candidate: one of each for three candidates, and sometimes an open one for the bad."""
        tier = (number + rng.randrange(NUM_TIERS)) % NUM_TIERS if number >= NUM_TIERS else number
        return OPEN_TIER if tier == NUM_TIERS - 1 and rng.random() < OPEN_SHARE else tier


def synthesize_files(
    output: Path,
    criteria: Criteria,
    groups: int | None = None,
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
        criteria: Criteria of the error counts.
        groups: Number of groups; defaults to the number of reports with text, or 10,000 without `reports`.
        per_reference: Number of candidates per reference.
        seed: Seed of all sampling.
        reports: CSV, JSONL or Parquet file of real reports; by default, references are generated.
        text_column: Column of the text; by default `report`, `reference`, `text`, or `findings` and `impression`.
        granularity: Kind of generated texts, see `synthesize`.
        max_findings: Maximum number of findings of a plain report.

    Returns:
        The Parquet file.

    Raises:
        InputError: If the reports cannot be used, or synthesis does not support the criteria.
    """
    real = read_reports(reports, text_column) if reports else None
    if real and real.empty_rows:
        logger.warning(
            "%s: skipped %d rows without text, first row %d.", reports, len(real.empty_rows), real.empty_rows[0]
        )
    card = DataCard(criteria, seed, per_reference, reports.name if reports else None, real)
    texts = real.texts if real else None
    if groups is None:
        groups = len(texts) if texts is not None else _DEFAULT_GROUPS
    drafted = _draft_groups(criteria, groups, per_reference, seed, texts, granularity, max_findings)
    output.mkdir(parents=True, exist_ok=True)
    path = output / "groups.parquet"
    write_groups(path, track(card.count_groups(drafted), "Writing groups", total=groups))
    card.write(output)
    return path
