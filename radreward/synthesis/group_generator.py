"""One group of a reference and candidates: samples, drafts and checks until the candidates differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.synthesis.candidate_pairing import ReportPool
from radreward.synthesis.candidates import (
    SHORT_REPORT_SENTENCES,
    CandidateDraft,
    ReportSource,
    draft_candidate,
    judge_draft,
    random_report_source,
    similar_report_source,
)
from radreward.synthesis.error_profiles import ErrorProfile, write_profiled
from radreward.synthesis.graded_candidates import draft_graded
from radreward.synthesis.pairings import Pairing, draft_paired
from radreward.synthesis.report_styles import (
    FrequentChoiceRandom,
    Granularity,
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

MAX_CANDIDATE_TRIES = 20
"""Number of candidate sets drafted for a reference until their totals differ."""
MAX_REFERENCE_TRIES = 100
"""Number of references sampled until such candidates exist; a normal chest, say, has no location to be wrong about."""
MAX_PROFILE_TRIES = 60
"""Number of these for a reference that allows the errors of a profile; then the closest candidates are taken."""
OPEN_SHARE = 0.3
"""Share of the bad candidates with any number of errors instead of five or six."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupGenerator:
    """Generator of single groups from their numbers: in tiers of quality, with a profile, graded, or paired."""

    criteria: Criteria
    per_reference: int
    seed: int
    granularity: Granularity
    max_findings: int
    judges_language: bool
    """True if history and impression are judged and must exist."""
    pool: ReportPool | None
    profile: ErrorProfile | None
    pairings: tuple[Pairing, ...]
    """Empty if candidates have tiers or a profile, or are graded."""
    graded: bool
    """True if candidates state one finding right, partly right, and not at all."""
    outputs: list[AnnotatedReport] | None
    """Output of a report generator per report of the pool."""

    def generate(self, number: int) -> DraftedGroup:
        """Return a group, which depends on the seed and its number only.

        Raises:
            InputError: If no errors can be made in the report.
        """
        kind = FrequentChoiceRandom if self.granularity == "plain" else Random
        rng = kind(f"{self.seed}:{number}")
        index = number % len(self.pool.reports) if self.pool else 0
        requests = self.profile.sample_different(self.per_reference, rng) if self.profile else []
        for attempt in range(MAX_REFERENCE_TRIES):
            reference, style_sampler = self._sample_reference(index, rng)
            for _ in range(1 if self.profile else MAX_CANDIDATE_TRIES):
                if self.profile:
                    drafts = [
                        write_profiled(reference, self.profile.name, entry, self.criteria, rng) for entry in requests
                    ]
                elif self.pairings:
                    drafts = self._draft_pairings(reference, number, index, style_sampler, rng)
                elif self.graded:
                    drafts = self._judge("graded", reference, draft_graded(reference, self.per_reference, rng))
                else:
                    drafts = self._draft_tiers(reference, index, style_sampler, rng)
                candidates = tuple(draft.candidate for draft in drafts)
                # Rounded, because training compares totals in float32.
                totals = {round(self.criteria.weighted_errors(entry.errors or {}), 6) for entry in candidates}
                is_as_asked = not self.profile or all(entry.in_tier for entry in drafts)
                if len(totals) > 1 and (is_as_asked or attempt >= MAX_PROFILE_TRIES):
                    group = ReportGroup(f"synthetic-{self.seed}-{number}", reference.text, candidates)
                    return DraftedGroup(group, tuple(drafts), not requests and is_limited(reference))
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

    def _sources(
        self, reference: AnnotatedReport, index: int, style_sampler: StyleSampler
    ) -> tuple[ReportSource, ReportSource]:
        """Return samplers of reports of any other patient, and of similar ones."""
        if self.pool and self.pool.can_pair:
            return partial(self.pool.sample_other, index), partial(self.pool.sample_neighbor, index)
        return random_report_source(style_sampler), similar_report_source(reference, style_sampler)

    def _draft_tiers(
        self, reference: AnnotatedReport, index: int, style_sampler: StyleSampler, rng: Random
    ) -> list[TieredCandidate]:
        other, neighbor = self._sources(reference, index, style_sampler)
        is_any_style = style_sampler in (sample_style, large_style, elaborate_style)
        rewritten_style = mixed_style if is_any_style else style_sampler

        def draft(tier: int, rng: Random) -> CandidateDraft:
            return draft_candidate(reference, tier, other, neighbor, rewritten_style, rng)

        writer = TieredWriter(self.criteria, reference, draft, self.judges_language)
        candidates = [writer.write(self._sample_tier(number, rng), rng) for number in range(self.per_reference)]
        rng.shuffle(candidates)
        return candidates

    def _draft_pairings(
        self, reference: AnnotatedReport, number: int, index: int, style_sampler: StyleSampler, rng: Random
    ) -> list[TieredCandidate]:
        """Return candidates of the pairings in turn, over all groups."""
        sources = self._sources(reference, index, style_sampler)
        output = self.outputs[index] if self.outputs else None
        candidates = []
        for position in range(number * self.per_reference, (number + 1) * self.per_reference):
            pairing = self.pairings[position % len(self.pairings)]
            draft = draft_paired(pairing, reference, *sources, output, rng)
            candidates += self._judge(pairing, reference, [draft])
        return candidates

    def _judge(self, kind: str, reference: AnnotatedReport, drafts: Sequence[CandidateDraft]) -> list[TieredCandidate]:
        """Return drafts with their errors, of a kind that has no tier."""
        return [
            TieredCandidate(judge_draft(reference, draft).candidate(reference, draft, self.criteria), kind, True)
            for draft in drafts
        ]

    def _sample_tier(self, number: int, rng: Random) -> int:
        """Return the tier of a candidate: one of each for three candidates, and sometimes an open one for the bad."""
        tier = (number + rng.randrange(NUM_TIERS)) % NUM_TIERS if number >= NUM_TIERS else number
        return OPEN_TIER if tier == NUM_TIERS - 1 and rng.random() < OPEN_SHARE else tier
