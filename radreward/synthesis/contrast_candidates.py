"""Candidates that say the same in other words, beside copies of the reference with an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from random import Random

from radreward.synthesis.candidate_writer import (
    CandidateWriter,
    GroupRequest,
    Reference,
    WrittenCandidate,
    judge_candidates,
)
from radreward.synthesis.candidates import CandidateDraft, add_errors
from radreward.synthesis.graded_candidates import unrelated_fact
from radreward.synthesis.grammar import restate_facts
from radreward.synthesis.perturbations.report_edits import (
    can_replace_fact,
    make_specific,
    make_vague,
    reorder,
    replace_fact,
)
from radreward.text.facts import AnnotatedReport, Sentence
from radreward.text.report_parser import PartiallyParsedSentence
from radreward.text.significance import significance_weight

_NUM_WORDINGS = 8
"""Number of wordings of a sentence, of which the one with the fewest words of the report is written."""
_REPLACED_SHARE = 0.5
"""Share of the copies in which another finding replaces one, if one can be replaced."""
_WORD = re.compile(r"[a-z]{3,}")


class ContrastWriter(CandidateWriter):
    """Writer of correct candidates that share few words with the reference, and of copies with an error.

    A scorer that compares words ranks them in the wrong order.
    """

    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        """See `CandidateWriter.write`."""
        for reference in request.repeated_references():
            drafts = draft_contrast(reference.report, request.num_candidates, rng)
            yield reference, judge_candidates("contrast", reference, drafts, request.criteria)


def draft_contrast(reference: AnnotatedReport, count: int, rng: Random) -> list[CandidateDraft]:
    """Return candidates in random order: a correct one in other words, a copy with an error, and any of both kinds.

    Of the candidates beyond the first two, some have an error and other words, so that other words alone do not show
    that a candidate is correct; others state a finding under a vague or a more specific name, which is partly right.
    """
    reports = [reword(reference, rng), _with_error(reference, rng)]
    while len(reports) < count:
        report = rng.choice((_with_error, _with_other_name, _unchanged))(reference, rng)
        reports.append(reword(report, rng) if rng.random() < 0.5 else report)
    return [CandidateDraft(report, "contrast") for report in rng.sample(reports[:count], k=count)]


def _unchanged(report: AnnotatedReport, rng: Random) -> AnnotatedReport:
    return report


def _with_other_name(report: AnnotatedReport, rng: Random) -> AnnotatedReport:
    return rng.choice((make_vague, make_specific))(report, rng) or report


def _with_error(report: AnnotatedReport, rng: Random) -> AnnotatedReport:
    """Return a report with another finding in place of one, or with any error; other sentences stay."""
    stated = [fact for fact in report.facts if fact.positive and significance_weight(fact)]
    if stated and rng.random() < _REPLACED_SHARE:
        fact = rng.choice(stated)
        other = unrelated_fact(fact, report, rng)
        if can_replace_fact(report, fact, other):
            return replace_fact(report, fact, other, rng) or report
    return add_errors(report, 1, rng)


def reword(report: AnnotatedReport, rng: Random) -> AnnotatedReport:
    """Return a report with the same facts and few of its words: of several wordings of each sentence, the farthest."""
    known = _words(report.text)
    sentences: list[Sentence] = []
    for sentence in report.sentences:
        if isinstance(sentence, PartiallyParsedSentence) or not sentence.facts:
            sentences.append(sentence)
            continue
        wordings = [restate_facts(sentence.facts, rng, sentence.section) for _ in range(_NUM_WORDINGS)]
        sentences += min(wordings, key=lambda wording: _share(known, wording))
    return reorder(report._replace(sentences=tuple(sentences)), rng)


def _share(known: set[str], sentences: Iterable[Sentence]) -> float:
    """Return the share of the words of sentences that are known."""
    words = set().union(*(_words(sentence.text) for sentence in sentences))
    return len(words & known) / len(words) if words else 0.0


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
