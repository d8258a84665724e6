"""Writer of error analyses in words, from the facts of both reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from radreward.criteria import Criteria
from radreward.criteria.error_counting import ERROR_TAGS, FactError, compare_facts
from radreward.data.collators.sft import AnalysisWriter
from radreward.prompts.generative_template import ErrorAnalysis
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import parse_report

_ERROR_TEMPLATES: dict[str, tuple[str, ...]] = {
    "false_prediction": (
        "{candidate} is not in the reference",
        "the candidate reports {candidate} and the reference does not",
        "nothing in the reference supports {candidate}",
    ),
    "omission": (
        "{reference} is left out",
        "the candidate says nothing of {reference}",
        "the reference has {reference} and the candidate does not",
    ),
    "incorrect_location": (
        "{name} is {reference_location} in the reference but {candidate_location} in the candidate",
        "{name}: the place is {reference_location}, not {candidate_location}",
    ),
    "incorrect_severity": (
        "{name} is {reference_severity} in the reference but {candidate_severity} in the candidate",
        "{name}: {reference_severity}, not {candidate_severity}",
    ),
    "incorrect_comparison": (
        "{name} is called {candidate_change}, which the reference does not say",
        "the reference does not say that {name} is {candidate_change}",
    ),
    "omission_of_comparison": (
        "that {name} is {reference_change} is not said",
        "the candidate leaves out that {name} is {reference_change}",
    ),
}
"""Sentences for each kind of error; placeholders are the name, both facts in words, and their details."""


class FactAnalysisWriter(AnalysisWriter):
    r"""Writer of analyses with the findings of both reports, then every error by its criterion.

    Facts are parsed from the text; this is exact for text of the report grammar. If the parsed errors of a criterion
    differ in number from its given count, its errors are not described.

    Args:
        vary_wording: Vary names and sentences. Otherwise each fact has one wording, which a small model learns faster.

    >>> from radreward.criteria import RadCliQCriteria
    >>> counts = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    >>> analysis = FactAnalysisWriter(vary_wording=False).write(
    ...     "Small left effusion.", "Small right effusion.", counts, RadCliQCriteria(), Random(0)
    ... )
    >>> analysis.explanation, analysis.error_texts[2]
    ('Reference: mild left pleural effusion.\nCandidate: mild right pleural effusion.', ('pleural effusion',))
    """

    def __init__(self, vary_wording: bool = True) -> None:
        self.vary_wording = vary_wording

    def write(
        self, reference: str, candidate: str, error_counts: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> ErrorAnalysis:
        """See `AnalysisWriter.write`."""
        expected, stated = parse_report(reference).facts, parse_report(candidate).facts
        comparison = compare_facts(expected, stated)
        error_texts = tuple(
            self._describe_errors(tag, count, comparison.errors, rng)
            for tag, count in zip(criteria.tags, error_counts, strict=True)
        )
        matched = tuple(self.describe_fact(fact, rng) for fact in comparison.matched)
        return ErrorAnalysis(error_counts, self._explain(expected, stated, rng), error_texts, matched)

    def _describe_errors(self, tag: str, count: float, errors: Sequence[FactError], rng: Random) -> tuple[str, ...]:
        """Return descriptions of the errors of a RadCliQ criterion; empty if their number differs from `count`."""
        significance, _, kind = tag.partition("_")
        if kind in ERROR_TAGS and significance in ("significant", "insignificant"):
            is_significant = significance == "significant"
            selected = [error for error in errors if error.tag == kind and error.significant == is_significant]
        else:
            selected = [error for error in errors if error.tag == tag]
        return tuple(self.describe_error(error, rng) for error in selected) if len(selected) == count else ()

    def _explain(self, reference: Iterable[Fact], candidate: Iterable[Fact], rng: Random) -> str:
        titles = rng.choice((("Reference", "Candidate"), ("The reference finds", "The candidate finds")))
        if not self.vary_wording:
            titles = ("Reference", "Candidate")
        lines = []
        for title, facts in zip(titles, (reference, candidate), strict=True):
            described = [self.describe_fact(fact, rng) for fact in facts if fact.positive or fact.change]
            lines.append(f"{title}: {'; '.join(described) or 'no findings'}.")
        return "\n".join(lines)

    def describe_fact(self, fact: Fact, rng: Random) -> str:
        """Return a fact in words: certainty, severity, size, location, name, change."""
        certainty = "possible" if fact.polarity == "uncertain" else None
        words = " ".join(
            filter(None, (certainty, fact.severity, _size_words(fact), fact.location, self._name(fact, rng)))
        )
        return f"{words}, {fact.change}" if fact.change else words

    def describe_error(self, error: FactError, rng: Random) -> str:
        """Return an error in words: the name of the finding, or a sentence that describes the error."""
        expected, stated = error.reference, error.candidate
        subject = expected or stated
        if subject is None:
            raise ValueError("Expected an error about a fact of one of the reports but got none.")
        if not self.vary_wording:
            return self._name(subject, rng)
        values = {
            "name": self._name(subject, rng),
            "reference": self.describe_fact(expected, rng) if expected else "",
            "candidate": self.describe_fact(stated, rng) if stated else "",
        }
        for side, fact, other in (("reference", expected, stated), ("candidate", stated, expected)):
            for detail in ("location", "change"):
                values[f"{side}_{detail}"] = getattr(fact, detail, None) or ""
            values[f"{side}_severity"] = _severity_words(fact, other)
        return rng.choice(_ERROR_TEMPLATES[error.tag]).format_map(values)

    def _name(self, fact: Fact, rng: Random) -> str:
        names = FINDINGS[fact.finding].plain_names
        return rng.choice(names[:3]) if self.vary_wording else names[0]


def _severity_words(fact: Fact | None, other: Fact | None) -> str:
    """Return the severity of a fact if both facts state different ones, otherwise its size."""
    if not fact or not other:
        return ""
    return fact.severity or "" if other.severity and fact.severity != other.severity else _size_words(fact)


def _size_words(fact: Fact) -> str:
    return f"{fact.size:g} mm" if fact.size else ""
