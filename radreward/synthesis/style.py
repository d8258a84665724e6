"""How a report is written: its sections, its length, its letters."""

from __future__ import annotations

from random import Random
from typing import Literal, NamedTuple

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
    """Most findings, with few normal statements beside them; any number where nothing is given."""


def statement_style(rng: Random) -> Style:
    """A style of single statements: the shortest text in which two wordings can be compared."""
    return Style("findings", lower=rng.random() < 0.12, filler=0.0, most=1)


def brief_style(rng: Random) -> Style:
    """A style of reports of few sentences, as impressions often are."""
    return Style(rng.choice(("impression", "findings")), lower=rng.random() < 0.12, filler=0.05, most=3)


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
