"""Evaluators that explain without a language model: rules read both reports, compare findings and write the answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

from radreward.criteria import Criteria
from radreward.generative.evaluator import GeneratedAnswer
from radreward.generative.scorer import ParsedScore, parsed_scores
from radreward.prompts.generative_template import ErrorAnalysis, GenerativeTemplate
from radreward.scorers.stateless import StatelessScorer
from radreward.synthesis import error_counting, fact_analysis_writer, fact_matching
from radreward.synthesis.error_counting import compare_facts, tally_errors, to_radcliq_counts
from radreward.synthesis.fact_analysis_writer import FactAnalysisWriter
from radreward.text import report_parser
from radreward.text.report_parser import PartiallyParsedSentence, parse_report
from radreward.types import Scores


class RuleScorer(StatelessScorer):
    """Counts errors by rules and explains them in the layout of a generative evaluator, which reads them back.

    Both reports are parsed into findings with location, severity and change; findings are matched, and every difference
    that RadCliQ names is an error. Sentences that the rules read in part are counted in the explanation; errors in the
    rest of them are missed.

    Attributes:
        template: Layout of the answers.
    """

    template: ClassVar[GenerativeTemplate]
    criteria: Criteria
    source_modules = (error_counting, fact_analysis_writer, fact_matching, report_parser)
    requires_report = True
    returns_explanations = True

    @abstractmethod
    def parse_answer(self, answer: GeneratedAnswer) -> ParsedScore:
        """Return score, counts and explanation of an answer."""

    def write_answer(self, reference: str, candidate: str) -> str:
        """Return the answer about a pair of reports."""
        return self.template.render_answer(analyze_errors(reference, candidate, self.criteria), self.criteria)

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        texts = map(self.write_answer, references, candidates)
        parsed = [self.parse_answer(GeneratedAnswer(text, "stop", None, False)) for text in texts]
        return parsed_scores(parsed, [entry.status for entry in parsed], self.criteria, self.has_quality)


def analyze_errors(reference: str, candidate: str, criteria: Criteria) -> ErrorAnalysis:
    """Return the errors of a candidate by rules, with explanations; findings that both reports exclude match too.

    Args:
        reference: The reference.
        candidate: The candidate.
        criteria: RadCliQ's six kinds of errors, with or without significance.

    >>> from radreward.criteria import RadCliQCriteria
    >>> analysis = analyze_errors("Small left effusion. No edema.", "No effusion. Edema.", RadCliQCriteria())
    >>> analysis.error_counts[:2], len(analysis.error_texts[0])
    ((1.0, 1.0), 1)
    """
    reports: dict[str, Any] = {"reference": parse_report(reference), "candidate": parse_report(candidate)}
    counts = tally_errors(compare_facts(*(report.facts for report in reports.values())).errors)
    counts = {**counts, **to_radcliq_counts(counts)}
    values = tuple(float(counts[tag]) for tag in criteria.tags)
    writer, rng = FactAnalysisWriter(), Random(0)
    analysis = writer.write(reference, candidate, values, criteria, rng)
    stated = set(reports["candidate"].facts)
    absent = [fact for fact in reports["reference"].facts if fact.polarity == "absent" and fact in stated]
    matched = (*analysis.matched_findings, *(f"no {writer.describe_fact(fact, rng)}" for fact in absent))
    partly = {
        name: sum(isinstance(entry, PartiallyParsedSentence) and not entry.is_heading for entry in report.sentences)
        for name, report in reports.items()
    }
    read = "; ".join(
        f"{count} of {len(reports[name].sentences)} of the {name}" for name, count in partly.items() if count
    )
    note = f"\nSentences that are read in part only: {read}." if read else ""
    return analysis._replace(explanation=analysis.explanation + note, matched_findings=matched)
