"""Quality from the findings of reports: rules compare those that they read, the judge those in other words."""

from __future__ import annotations

from collections.abc import Sequence

from radreward.models.report_findings import ReportFindings
from radreward.scorers.finding_comparison import OpenFinding, compare_findings
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.text.sentence_parser import sentence_facts


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
    first, second = sentences
    return comparison.quality(
        (
            _agreements(comparison.reference, judgement.reference_scores, first, second, findings[1].unread),
            _agreements(comparison.candidate, judgement.candidate_scores, second, first, findings[0].unread),
        )
    )


def _agreements(
    findings: Sequence[OpenFinding],
    scores: Sequence[SentenceScore | None],
    sentences: Sequence[str],
    others: Sequence[str],
    unread: Sequence[str],
) -> list[float]:
    """Return the agreement of each open finding of a report with the sentences of the other one."""
    counterparts = {index for index, other in enumerate(others) if any(_overlap(other, text) for text in unread)}
    judged = [(text, score) for text, score in zip(sentences, scores, strict=True) if score is not None]
    agreements = []
    for finding in findings:
        own = _sentences_of(finding, judged)
        if finding.fact:
            own = [score for score in own if not counterparts.isdisjoint(score.matches)]
        agreements.append(max((max(0.0, score.score) for score in own), default=0.0))
    return agreements


def _sentences_of(finding: OpenFinding, judged: Sequence[tuple[str, SentenceScore]]) -> list[SentenceScore]:
    """Return the scores of the sentences that state a finding. One whose details stand apart is known by its name."""
    fact = finding.fact
    if fact is None:
        return [score for text, score in judged if _overlap(text, finding.words)]
    exact = [score for text, score in judged if fact in sentence_facts(text)]
    return exact or [score for text, score in judged if any(fact[:2] == other[:2] for other in sentence_facts(text))]


def _overlap(sentence: str, text: str) -> bool:
    """Return True if one text contains the other: the judge's sentences end elsewhere than those of the rules."""
    return text in sentence or sentence in text
