"""Known errors in words: what two reports state, and where they differ, from the facts of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from radreward.criteria import Criteria
from radreward.data.collators.sft import AnalysisWriter
from radreward.synthesis.error_counting import (
    COMPARED,
    DEGREE,
    FALSE,
    MISSING,
    NOT_COMPARED,
    PLACE,
    TYPES,
    Difference,
    differences,
)
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import annotate
from radreward.types import Analysis

EARLIER = {"new": "new", "worse": "worse", "better": "better", "stable": "stable", "resolved": "resolved"}
SENTENCES: dict[str, tuple[str, ...]] = {
    FALSE: (
        "{theirs} is not in the reference",
        "the candidate reports {theirs} and the reference does not",
        "nothing in the reference supports {theirs}",
    ),
    MISSING: (
        "{ours} is left out",
        "the candidate says nothing of {ours}",
        "the reference has {ours} and the candidate does not",
    ),
    PLACE: (
        "{name} is {place} in the reference but {other place} in the candidate",
        "{name}: the place is {place}, not {other place}",
    ),
    DEGREE: (
        "{name} is {degree} in the reference but {other degree} in the candidate",
        "{name}: {degree}, not {other degree}",
    ),
    COMPARED: (
        "{name} is called {other change}, which the reference does not say",
        "the reference does not say that {name} is {other change}",
    ),
    NOT_COMPARED: (
        "that {name} is {change} is not said",
        "the candidate leaves out that {name} is {change}",
    ),
}
"""How an error may be put."""


class FactAnalyses(AnalysisWriter):
    r"""Writes an analysis from the facts that both reports state: what each finds, then every error by its criterion.

    Facts are read from the text, exactly where our grammar wrote it. Where another text gives other numbers than the
    known ones, a criterion's errors are counted and not put in words.

    Args:
        varied: Whether names and sentences vary; otherwise every fact has one form, which a small model learns sooner.

    >>> from radreward.criteria import RadCliQ
    >>> values = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    >>> found = FactAnalyses(varied=False).write(
    ...     "Small left effusion.", "Small right effusion.", values, RadCliQ(), Random(0)
    ... )
    >>> found.explanation, found.errors[2]
    ('Reference: mild left pleural effusion.\nCandidate: mild right pleural effusion.', ('pleural effusion',))
    """

    def __init__(self, varied: bool = True) -> None:
        self.varied = varied

    def write(
        self, reference: str, candidate: str, values: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> Analysis:
        """See `AnalysisWriter.write`."""
        ours, theirs = annotate(reference).facts, annotate(candidate).facts
        found = differences(ours, theirs)
        words = tuple(
            self._errors(tag, value, found.errors, rng) for tag, value in zip(criteria.tags, values, strict=True)
        )
        matched = tuple(self.fact(fact, rng) for fact in found.matched)
        return Analysis(values, self._explanation(ours, theirs, rng), words, matched)

    def _errors(self, tag: str, value: float, errors: Sequence[Difference], rng: Random) -> tuple[str, ...]:
        """Words for the errors of a criterion of `RadCliQ` or `RadCliQSignificance`, if they are as many as known."""
        significance, _, kind = tag.partition("_")
        if kind in TYPES and significance in ("significant", "insignificant"):
            chosen = [
                entry for entry in errors if entry.tag == kind and entry.significant == (significance == "significant")
            ]
        else:
            chosen = [entry for entry in errors if entry.tag == tag]
        return tuple(self.error(entry, rng) for entry in chosen) if len(chosen) == value else ()

    def _explanation(self, ours: Iterable[Fact], theirs: Iterable[Fact], rng: Random) -> str:
        heads = rng.choice((("Reference", "Candidate"), ("The reference finds", "The candidate finds")))
        if not self.varied:
            heads = ("Reference", "Candidate")
        lines = []
        for head, facts in zip(heads, (ours, theirs), strict=True):
            told = [self.fact(fact, rng) for fact in facts if fact.positive or fact.change]
            lines.append(f"{head}: {'; '.join(told) or 'no findings'}.")
        return "\n".join(lines)

    def fact(self, fact: Fact, rng: Random) -> str:
        """A fact in words: degree, place, name, doubt, change."""
        doubt = "possible" if fact.polarity == "uncertain" else None
        words = " ".join(filter(None, (doubt, fact.severity, fact.location, self._name(fact, rng))))
        return f"{words}, {EARLIER[fact.change]}" if fact.change else words

    def error(self, entry: Difference, rng: Random) -> str:
        """An error in words: the name of the finding, or a sentence that says what is wrong."""
        ours, theirs = entry.reference, entry.candidate
        said = ours or theirs
        if said is None:
            raise ValueError("Expected an error about a fact of one of the reports but got none.")
        if not self.varied:
            return self._name(said, rng)
        words = {
            "name": self._name(said, rng),
            "ours": self.fact(ours, rng) if ours else "",
            "theirs": self.fact(theirs, rng) if theirs else "",
            "place": ours and ours.location,
            "other place": theirs and theirs.location,
            "degree": ours and ours.severity,
            "other degree": theirs and theirs.severity,
            "change": ours and ours.change,
            "other change": theirs and theirs.change,
        }
        return rng.choice(SENTENCES[entry.tag]).format_map(words)

    def _name(self, fact: Fact, rng: Random) -> str:
        nouns = FINDINGS[fact.finding].nouns
        return (rng.choice(nouns[:3]) if self.varied else nouns[0]).removeprefix("*")
