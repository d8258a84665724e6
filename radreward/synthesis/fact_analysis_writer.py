"""Known errors in words: what two reports state, and where they differ, from the facts of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from radreward.criteria import Criteria
from radreward.data.collators.sft import AnalysisWriter
from radreward.prompts.generative_template import ErrorAnalysis
from radreward.synthesis.error_counting import (
    ERROR_TAGS,
    FALSE_COMPARISON,
    FALSE_PREDICTION,
    OMISSION,
    OMITTED_COMPARISON,
    WRONG_LOCATION,
    WRONG_SEVERITY,
    FactError,
    compare_facts,
)
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import parse_report

EARLIER = {"new": "new", "worse": "worse", "better": "better", "stable": "stable", "resolved": "resolved"}
ERROR_TEMPLATES: dict[str, tuple[str, ...]] = {
    FALSE_PREDICTION: (
        "{theirs} is not in the reference",
        "the candidate reports {theirs} and the reference does not",
        "nothing in the reference supports {theirs}",
    ),
    OMISSION: (
        "{ours} is left out",
        "the candidate says nothing of {ours}",
        "the reference has {ours} and the candidate does not",
    ),
    WRONG_LOCATION: (
        "{name} is {place} in the reference but {other place} in the candidate",
        "{name}: the place is {place}, not {other place}",
    ),
    WRONG_SEVERITY: (
        "{name} is {degree} in the reference but {other degree} in the candidate",
        "{name}: {degree}, not {other degree}",
    ),
    FALSE_COMPARISON: (
        "{name} is called {other change}, which the reference does not say",
        "the reference does not say that {name} is {other change}",
    ),
    OMITTED_COMPARISON: (
        "that {name} is {change} is not said",
        "the candidate leaves out that {name} is {change}",
    ),
}
"""How an error may be put."""


class FactAnalysisWriter(AnalysisWriter):
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

    def __init__(self, vary_wording: bool = True) -> None:
        self.vary_wording = vary_wording

    def write(
        self, reference: str, candidate: str, error_counts: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> ErrorAnalysis:
        """See `AnalysisWriter.write`."""
        ours, theirs = parse_report(reference).facts, parse_report(candidate).facts
        found = compare_facts(ours, theirs)
        words = tuple(
            self._describe_errors(tag, value, found.errors, rng)
            for tag, value in zip(criteria.tags, error_counts, strict=True)
        )
        matched = tuple(self.describe_fact(fact, rng) for fact in found.matched)
        return ErrorAnalysis(error_counts, self._explain(ours, theirs, rng), words, matched)

    def _describe_errors(self, tag: str, value: float, errors: Sequence[FactError], rng: Random) -> tuple[str, ...]:
        """Words for the errors of a criterion of `RadCliQ` or `RadCliQSignificanceCriteria`, if they are as many as known."""
        significance, _, kind = tag.partition("_")
        if kind in ERROR_TAGS and significance in ("significant", "insignificant"):
            chosen = [
                entry for entry in errors if entry.tag == kind and entry.significant == (significance == "significant")
            ]
        else:
            chosen = [entry for entry in errors if entry.tag == tag]
        return tuple(self.describe_error(entry, rng) for entry in chosen) if len(chosen) == value else ()

    def _explain(self, ours: Iterable[Fact], theirs: Iterable[Fact], rng: Random) -> str:
        heads = rng.choice((("Reference", "Candidate"), ("The reference finds", "The candidate finds")))
        if not self.vary_wording:
            heads = ("Reference", "Candidate")
        lines = []
        for head, facts in zip(heads, (ours, theirs), strict=True):
            told = [self.describe_fact(fact, rng) for fact in facts if fact.positive or fact.change]
            lines.append(f"{head}: {'; '.join(told) or 'no findings'}.")
        return "\n".join(lines)

    def describe_fact(self, fact: Fact, rng: Random) -> str:
        """A fact in words: degree, place, name, doubt, change."""
        doubt = "possible" if fact.polarity == "uncertain" else None
        words = " ".join(filter(None, (doubt, fact.severity, fact.location, self._name(fact, rng))))
        return f"{words}, {EARLIER[fact.change]}" if fact.change else words

    def describe_error(self, entry: FactError, rng: Random) -> str:
        """An error in words: the name of the finding, or a sentence that says what is wrong."""
        ours, theirs = entry.reference, entry.candidate
        said = ours or theirs
        if said is None:
            raise ValueError("Expected an error about a fact of one of the reports but got none.")
        if not self.vary_wording:
            return self._name(said, rng)
        words = {
            "name": self._name(said, rng),
            "ours": self.describe_fact(ours, rng) if ours else "",
            "theirs": self.describe_fact(theirs, rng) if theirs else "",
            "place": ours and ours.location,
            "other place": theirs and theirs.location,
            "degree": ours and ours.severity,
            "other degree": theirs and theirs.severity,
            "change": ours and ours.change,
            "other change": theirs and theirs.change,
        }
        return rng.choice(ERROR_TEMPLATES[entry.tag]).format_map(words)

    def _name(self, fact: Fact, rng: Random) -> str:
        nouns = FINDINGS[fact.finding].names
        return (rng.choice(nouns[:3]) if self.vary_wording else nouns[0]).removeprefix("*")
