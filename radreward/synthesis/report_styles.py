"""Styles of generated reports: sections, length and typography."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Literal, TypeVar

from radreward.text.facts import AnnotatedReport

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

T = TypeVar("T")

_ReportLayout = Literal["impression", "findings", "both"]
Granularity = Literal["statement", "plain", "report"]
PROSE_SHARE = 0.35
"""Share of the references, and of the candidates, with prose of report generators."""


@dataclass(frozen=True, slots=True)
class ReportStyle:
    """Style of one report."""

    layout: _ReportLayout = "findings"
    has_headings: bool = False
    number_items: bool = False
    lowercase: bool = False
    """Lowercase text with spaces before stops, as report generators write."""
    has_history: bool = False
    filler_probability: float = 0.1
    max_findings: int | None = None
    negative_probability: float = 0.5
    """Probability of each plausible normal statement and pertinent negative."""
    common_findings_only: bool = False
    num_findings: int | None = None
    """Number of findings of a full-size report; sampled around three if None."""
    joint_probability: float = 0.3
    """Probability that a finding shares a sentence with others."""
    is_elaborate: bool = False
    """Longer sentences, organ by organ, with uncertain findings and remarks on technique, as of report generators."""
    compose_probability: float = 0.0
    """Probability that findings which share a detail are written in one sentence, see `composed_sentences`."""
    has_prose: bool = False
    """Sentences on technique, quality, limits and advice, see `report_prose`."""


StyleSampler = Callable[[Random], ReportStyle]


def statement_style(rng: Random) -> ReportStyle:
    """Return a style of single statements."""
    lowercase = rng.random() < 0.12
    return ReportStyle(lowercase=lowercase, filler_probability=0.0, max_findings=1, negative_probability=0.1)


def plain_style(rng: Random, max_findings: int = 4) -> ReportStyle:
    """Return a style of few and common findings, for models trained from scratch."""
    return ReportStyle(
        filler_probability=0.0, max_findings=max_findings, negative_probability=0.02, common_findings_only=True
    )


def brief_style(rng: Random) -> ReportStyle:
    """Return a style of reports with few sentences."""
    layout: _ReportLayout = rng.choice(("impression", "findings"))
    lowercase = rng.random() < 0.12
    return ReportStyle(
        layout,
        lowercase=lowercase,
        filler_probability=0.05,
        max_findings=3,
        negative_probability=0.1,
        compose_probability=0.3,
        has_prose=rng.random() < PROSE_SHARE,
    )


def full_style(rng: Random) -> ReportStyle:
    """Return a style of reports with headings for every section."""
    return ReportStyle("both", has_headings=True, has_history=True, filler_probability=_filler_probability(rng))


def sample_style(rng: Random) -> ReportStyle:
    """Return a style of reports of usual length."""
    layout: _ReportLayout = rng.choices(("impression", "findings", "both"), (4, 4, 3))[0]
    lowercase = rng.random() < 0.12
    return ReportStyle(
        layout,
        has_headings=layout == "both" and rng.random() < 0.5,
        number_items=not lowercase and layout != "findings" and rng.random() < 0.2,
        lowercase=lowercase,
        has_history=layout == "both" and rng.random() < 0.4,
        filler_probability=_filler_probability(rng),
        compose_probability=0.3,
        has_prose=rng.random() < PROSE_SHARE,
    )


def large_style(rng: Random) -> ReportStyle:
    """Return a style of full-size reports with five to eight findings, several per sentence."""
    layout: _ReportLayout = rng.choices(("impression", "findings", "both"), (2, 5, 3))[0]
    return ReportStyle(
        layout,
        has_headings=layout == "both" and rng.random() < 0.5,
        number_items=layout != "findings" and rng.random() < 0.2,
        lowercase=layout == "findings" and rng.random() < 0.12,
        filler_probability=_filler_probability(rng),
        negative_probability=rng.choice((0.1, 0.25, 0.4)),
        num_findings=rng.randint(5, 8),
        joint_probability=rng.choice((0.2, 0.5, 0.8)),
        compose_probability=0.5,
        has_prose=rng.random() < PROSE_SHARE,
    )


def elaborate_style(rng: Random) -> ReportStyle:
    """Return a style of report generators, with up to seven findings."""
    layout: _ReportLayout = rng.choices(("impression", "findings", "both"), (1, 5, 3))[0]
    return ReportStyle(
        layout,
        has_headings=layout == "both" and rng.random() < 0.5,
        lowercase=layout == "findings" and rng.random() < 0.1,
        filler_probability=0.4,
        negative_probability=rng.choice((0.2, 0.4, 0.6)),
        num_findings=rng.randrange(8),
        joint_probability=0.4,
        is_elaborate=True,
        compose_probability=0.5,
        has_prose=rng.random() < PROSE_SHARE,
    )


def mixed_style(rng: Random) -> ReportStyle:
    """Return a style of any report that is not brief."""
    return rng.choice((sample_style, large_style, elaborate_style))(rng)


VARIED_STYLES: tuple[StyleSampler, ...] = (brief_style, sample_style, large_style, elaborate_style)
"""Styles of generated reports, with equal probability."""


def style_sampler(granularity: Granularity, max_findings: int, rng: Random) -> StyleSampler:
    """Return a sampler of styles of a granularity; for reports, a random one of `VARIED_STYLES`."""
    if granularity == "statement":
        return statement_style
    if granularity == "plain":
        return partial(plain_style, max_findings=max_findings)
    return rng.choice(VARIED_STYLES)


def apply_style(report: AnnotatedReport, style: ReportStyle) -> AnnotatedReport:
    """Return a report with the item numbers and the lowercase text of a style."""
    number = 0
    sentences = []
    for sentence in report.sentences:
        text = sentence.text
        if style.number_items and sentence.section == "impression":
            number += 1
            text = f"{number}. {text}"
        if style.lowercase:
            text = re.sub(r"([.,])(?=\s|$)", r" \1", text.lower())
        sentences.append(sentence._replace(text=text))
    return report._replace(sentences=tuple(sentences))


def _filler_probability(rng: Random) -> float:
    return rng.choice((0.0, 0.0, 0.15, 0.3))


class FrequentChoiceRandom(Random):
    """A `Random` restricted to frequent choices, which keeps the vocabulary small."""

    NUM_OPTIONS = 3
    """Number of first options from which `choice` chooses."""
    MAX_WEIGHT_RATIO = 3
    """Ratio of the largest weight to an option's weight above which `choices` excludes the option."""

    def choice(self, seq: SupportsLenAndGetItem[T]) -> T:
        """Return one of the first options."""
        return seq[self.randrange(min(self.NUM_OPTIONS, len(seq)))]

    def choices(  # type: ignore[override]  # weights are positional in every call here
        self, population: SupportsLenAndGetItem[T], weights: Sequence[float], *, k: int = 1
    ) -> list[T]:
        """Return frequent options, with repeats."""
        frequent = [weight if self.MAX_WEIGHT_RATIO * weight >= max(weights) else 0.0 for weight in weights]
        return super().choices(population, frequent, k=k)
