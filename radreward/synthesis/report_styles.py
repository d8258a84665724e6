"""How a report is written: its sections, its length, its letters."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

T = TypeVar("T")

Layout = Literal["impression", "findings", "both"]


class Style(NamedTuple):
    """How a report is written."""

    layout: Layout = "findings"
    headed: bool = False
    numbered: bool = False
    lower: bool = False
    """Lower case with stops set apart, as report generators emit."""
    history: bool = False
    filler: float = 0.1
    most: int | None = None
    """Most findings; any number where nothing is given."""
    negatives: float = 0.5
    """How likely each normal statement and each pertinent negative that fits is to stand beside the findings."""
    common: bool = False
    """Whether only of findings that come up every day."""


def statement_style(rng: Random) -> Style:
    """A style of single statements: the shortest text in which two wordings can be compared."""
    return Style("findings", lower=rng.random() < 0.12, filler=0.0, most=1, negatives=0.1)


def plain_style(rng: Random, most: int = 4) -> Style:
    """A style of one to `most` everyday findings and little else, for models that learn to read from nothing."""
    return Style("findings", filler=0.0, most=most, negatives=0.02, common=True)


class PlainWords(Random):
    """Draws the usual: the first few of what there is, and nothing that is rare. Few words for the same facts."""

    FEW = 3
    RARE = 3
    """How many times as likely as the likeliest is too rare."""

    def choice(self, seq: SupportsLenAndGetItem[T]) -> T:
        """One of the first few."""
        return seq[self.randrange(min(self.FEW, len(seq)))]

    def choices(  # type: ignore[override]  # weights are given by place, as everywhere here
        self, population: SupportsLenAndGetItem[T], weights: Sequence[float], *, k: int = 1
    ) -> list[T]:
        """Draws with repeats, without what is rare."""
        kept = [weight if self.RARE * weight >= max(weights) else 0.0 for weight in weights]
        return super().choices(population, kept, k=k)


def brief_style(rng: Random) -> Style:
    """A style of reports of few sentences, as impressions often are."""
    return Style(rng.choice(("impression", "findings")), lower=rng.random() < 0.12, filler=0.05, most=3, negatives=0.1)


def full_style(rng: Random) -> Style:
    """The style of reports whose every section can be told apart."""
    return Style("both", headed=True, history=True, filler=rng.choice((0.0, 0.0, 0.15, 0.3)))


def sample_style(rng: Random) -> Style:
    """A style of reports of usual length, each with its share."""
    layout: Layout = rng.choices(("impression", "findings", "both"), (4, 4, 3))[0]
    lower = rng.random() < 0.12
    return Style(
        layout,
        headed=layout == "both" and rng.random() < 0.5,
        numbered=not lower and layout != "findings" and rng.random() < 0.2,
        lower=lower,
        history=layout == "both" and rng.random() < 0.4,
        filler=rng.choice((0.0, 0.0, 0.15, 0.3)),
    )
