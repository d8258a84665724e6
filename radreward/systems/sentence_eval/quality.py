"""Quality from the findings of reports: rules compare those that they read, the judge those in other words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence, Set
from itertools import accumulate

from radreward.models.finding_comparison import OpenFinding, compare_findings
from radreward.models.report_findings import ReportFindings
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.text.fact_index import FactIndex
from radreward.text.patient_context import NO_CONTEXT, PatientContext


def judged_quality(
    judgement: SentenceJudgement,
    sentences: tuple[Sequence[str], Sequence[str]],
    findings: tuple[ReportFindings, ReportFindings],
    context: PatientContext = NO_CONTEXT,
) -> float:
    """Return the quality of a candidate. All sentences of both reports must have a score.

    Rules compare the findings that they read, see `compare_findings`. Each of the others agrees with the other report
    by the score of its sentence, at least 0; if the rules read it, only unless they also read all counterparts of the
    sentence, because two findings that they read are different.

    Args:
        judgement: Scores of the sentences.
        sentences: Sentences of the reference, and of the candidate.
        findings: Their findings, see `read_findings`.
        context: The patient's age and indication.

    >>> from radreward.text.facts import Fact
    >>> equal, unmatched = SentenceScore(1.0, (0,)), SentenceScore(0.0, ())
    >>> judgement = SentenceJudgement((equal, unmatched), (equal,), None, "", {}, "ok")
    >>> edema, fracture = Fact("edema"), Fact("ribfx")
    >>> findings = ReportFindings((edema, fracture), ()), ReportFindings((edema,), ())
    >>> judged_quality(judgement, (["Pulmonary edema.", "Rib fracture."], ["Edema."]), findings)
    0.6
    >>> judgement = SentenceJudgement((equal,), (equal,), None, "", {}, "ok")
    >>> findings = ReportFindings((fracture,), ()), ReportFindings((), ("Broken costa.",))
    >>> judged_quality(judgement, (["Rib fracture."], ["Broken costa."]), findings)
    1.0
    """
    comparison = compare_findings(*findings, context)
    first, second = map(_SentenceIndex, sentences)
    return comparison.quality(
        (
            _agreements(comparison.reference, judgement.reference_scores, first, second.with_words(findings[1].unread)),
            _agreements(comparison.candidate, judgement.candidate_scores, second, first.with_words(findings[0].unread)),
        )
    )


class _SentenceIndex:
    """Sentences of a report by what they state."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._text = " ".join(sentences)
        self._starts = list(accumulate((len(sentence) + 1 for sentence in sentences), initial=0))[:-1]
        self._facts = FactIndex(sentences)

    def with_words(self, texts: Iterable[str]) -> set[int]:
        """Return the numbers of the sentences with any of these texts, which may end elsewhere than the sentences."""
        numbers: set[int] = set()
        for text in texts:
            start = self._text.find(text)
            if start >= 0:
                numbers.update(range(self._number_at(start), self._number_at(start + len(text) - 1) + 1))
        return numbers

    def stating(self, finding: OpenFinding) -> Iterable[int]:
        """Return the numbers of the sentences that state a finding."""
        return self.with_words([finding.words]) if finding.fact is None else self._facts.stating(finding.fact)

    def _number_at(self, position: int) -> int:
        return bisect_right(self._starts, position) - 1


def _agreements(
    findings: Sequence[OpenFinding],
    scores: Sequence[SentenceScore | None],
    sentences: _SentenceIndex,
    unread: Set[int],
) -> list[float]:
    """Return the agreement of each open finding with the other report, of which some sentences are unread."""
    agreements = []
    for finding in findings:
        own = [score for score in (scores[number] for number in sentences.stating(finding)) if score is not None]
        if finding.fact is not None:
            own = [score for score in own if not unread.isdisjoint(score.matches)]
        agreements.append(max((max(0.0, score.score) for score in own), default=0.0))
    return agreements
