"""Generator of groups; a group depends on the seed and its number only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import NamedTuple

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.synthesis.candidate_writer import (
    CandidateWriter,
    GroupRequest,
    Reference,
    WrittenCandidate,
    judges_language,
)
from radreward.synthesis.candidates import SHORT_REPORT_SENTENCES, check_criteria, random_report_source
from radreward.synthesis.report_pool import ReportPool
from radreward.synthesis.report_reader import ReportTexts
from radreward.synthesis.report_styles import (
    VARIED_STYLES,
    FrequentChoiceRandom,
    Granularity,
    brief_style,
    full_style,
    mixed_style,
    style_sampler,
)
from radreward.synthesis.tier_writer import TierWriter
from radreward.types import ReportGroup

_MAX_REFERENCE_TRIES = 100
"""Number of references sampled until candidates differ; a normal chest has no location that can be wrong."""
_DEFAULT_MAX_FINDINGS = 4


class WrittenGroup(NamedTuple):
    """A generated group, and its candidates with their tiers."""

    group: ReportGroup
    candidates: list[WrittenCandidate]


class GroupGenerator:
    """Generator of groups by number; samples references until the totals of the candidates differ.

    Args:
        criteria: Criteria of the error counts.
        per_reference: Number of candidates per reference.
        seed: Seed of all sampling.
        reports: Reports to use as references in turn, at least two; by default, references are generated.
        granularity: Kind of generated texts, see `synthesize`.
        max_findings: Maximum number of findings of a plain report, 4 by default.
        candidates: Strategy that makes the candidates; alternating tiers by default.

    Raises:
        ValueError: If `max_findings` is less than 1, or `per_reference` less than 2.
        InputError: If synthesis does not support the criteria, the options contradict each other, or no error can be
            made in a report.
    """

    def __init__(
        self,
        criteria: Criteria,
        per_reference: int,
        seed: int,
        reports: ReportTexts | None = None,
        *,
        granularity: Granularity = "report",
        max_findings: int | None = None,
        candidates: CandidateWriter | None = None,
    ) -> None:
        if per_reference < 2:
            raise InputError(f"Expected `per_reference` to be >= 2 but got {per_reference}.")
        if max_findings is not None and max_findings < 1:
            raise InputError(f"Expected `max_findings` to be >= 1 but got {max_findings}.")
        check_criteria(criteria)
        self.judges_language = judges_language(criteria)
        if granularity != "report" and (self.judges_language or reports is not None):
            raise InputError("granularity: Expected `report` for given reports and for criteria that judge sections.")
        if max_findings is not None and granularity != "plain":
            raise InputError("max_findings: Expected `granularity` to be `plain`, which limits the number of findings.")
        self.criteria = criteria
        self.per_reference = per_reference
        self.seed = seed
        self.granularity = granularity
        self.max_findings = _DEFAULT_MAX_FINDINGS if max_findings is None else max_findings
        self.writer = candidates or TierWriter()
        self.pool = None if reports is None else ReportPool.from_texts(reports)

    def generate(self, number: int) -> WrittenGroup:
        """Return the group with a number.

        Raises:
            InputError: If no candidates with different totals can be written.
        """
        kind = FrequentChoiceRandom if self.granularity == "plain" else Random
        rng = kind(f"{self.seed}:{number}")
        request = GroupRequest(self.criteria, number, self.per_reference, self._sample_references(number, rng))
        text = ""
        for reference, written in self.writer.write(request, rng):
            text = reference.report.text
            candidates = tuple(entry.candidate for entry in written)
            # Rounded because training compares totals in float32.
            totals = {round(self.criteria.weighted_errors(entry.errors or {}), 6) for entry in candidates}
            if len(totals) > 1:
                return WrittenGroup(ReportGroup(f"synthetic-{self.seed}-{number}", text, candidates), written)
        raise InputError(
            f"criteria {self.criteria.name}: no candidates with different totals could be generated for the report "
            f"{text[:80]!r}."
        )

    def _sample_references(self, number: int, rng: Random) -> Iterator[Reference]:
        """Yield the given report of a group repeatedly, or generated reports."""
        for _ in range(_MAX_REFERENCE_TRIES):
            yield self._given_reference(self.pool, number) if self.pool else self._generated_reference(rng)

    def _given_reference(self, pool: ReportPool, number: int) -> Reference:
        """Return a given report; its candidates are generated if too few given reports are completely parsed."""
        index = number % len(pool.reports)
        report = pool.reports[index]
        style = brief_style if len(report.sentences) <= SHORT_REPORT_SENTENCES else mixed_style
        reference = Reference.among_generated(report, style)._replace(
            generated=pool.generated[index] if pool.generated else None
        )
        if not pool.can_pair:
            return reference
        return reference._replace(
            sample_other=partial(pool.sample_other, index), sample_neighbor=partial(pool.sample_neighbor, index)
        )

    def _generated_reference(self, rng: Random) -> Reference:
        sampler = full_style if self.judges_language else style_sampler(self.granularity, self.max_findings, rng)
        report = random_report_source(sampler)(rng)
        while self.granularity == "plain" and not any(fact.positive for fact in report.facts):
            report = random_report_source(sampler)(rng)
        reference = Reference.among_generated(report, sampler)
        return reference._replace(sample_style=mixed_style) if sampler in VARIED_STYLES[1:] else reference
