"""How a report is written: its sections, its length, its letters."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

T = TypeVar("T")

ReportLayout = Literal["impression", "findings", "both"]


class ReportStyle(NamedTuple):
    """How a report is written."""

    layout: ReportLayout = "findings"
    has_headings: bool = False
    number_items: bool = False
    lowercase: bool = False
    """Lower case with stops set apart, as report generators emit."""
    has_history: bool = False
    filler_probability: float = 0.1
    max_findings: int | None = None
    """Most findings; any number where nothing is given."""
    negative_probability: float = 0.5
    """How likely each normal statement and each pertinent negative that fits is to stand beside the findings."""
    common_findings_only: bool = False
    """Whether only of findings that come up every day."""


def statement_style(rng: Random) -> ReportStyle:
    """A style of single statements: the shortest text in which two wordings can be compared."""
    return ReportStyle(
        "findings", lowercase=rng.random() < 0.12, filler_probability=0.0, max_findings=1, negative_probability=0.1
    )


def plain_style(rng: Random, max_findings: int = 4) -> ReportStyle:
    """A style of one to `most` everyday findings and little else, for models that learn to read from nothing."""
    return ReportStyle(
        "findings",
        filler_probability=0.0,
        max_findings=max_findings,
        negative_probability=0.02,
        common_findings_only=True,
    )


class FrequentChoiceRandom(Random):
    """Draws the usual: the first few of what there is, and nothing that is rare. Few words for the same facts."""

    NUM_OPTIONS = 3
    MAX_WEIGHT_RATIO = 3
    """How many times as likely as the likeliest is too rare."""

    def choice(self, seq: SupportsLenAndGetItem[T]) -> T:
        """One of the first few."""
        return seq[self.randrange(min(self.NUM_OPTIONS, len(seq)))]

    def choices(  # type: ignore[override]  # weights are given by place, as everywhere here
        self, population: SupportsLenAndGetItem[T], weights: Sequence[float], *, k: int = 1
    ) -> list[T]:
        """Draws with repeats, without what is rare."""
        kept = [weight if self.MAX_WEIGHT_RATIO * weight >= max(weights) else 0.0 for weight in weights]
        return super().choices(population, kept, k=k)


def brief_style(rng: Random) -> ReportStyle:
    """A style of reports of few sentences, as impressions often are."""
    return ReportStyle(
        rng.choice(("impression", "findings")),
        lowercase=rng.random() < 0.12,
        filler_probability=0.05,
        max_findings=3,
        negative_probability=0.1,
    )


def full_style(rng: Random) -> ReportStyle:
    """The style of reports whose every section can be told apart."""
    return ReportStyle(
        "both", has_headings=True, has_history=True, filler_probability=rng.choice((0.0, 0.0, 0.15, 0.3))
    )


def sample_style(rng: Random) -> ReportStyle:
    """A style of reports of usual length, each with its share."""
    layout: ReportLayout = rng.choices(("impression", "findings", "both"), (4, 4, 3))[0]
    lower = rng.random() < 0.12
    return ReportStyle(
        layout,
        has_headings=layout == "both" and rng.random() < 0.5,
        number_items=not lower and layout != "findings" and rng.random() < 0.2,
        lowercase=lower,
        has_history=layout == "both" and rng.random() < 0.4,
        filler_probability=rng.choice((0.0, 0.0, 0.15, 0.3)),
    )
