"""CRIMSON's score of two reports, from findings that are read by rules and by the names of findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch

from radreward.criteria import CrimsonCriteria, crimson_score
from radreward.io.artifacts import fingerprint
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.marked_findings import MarkedFinding, complete_findings
from radreward.models.pair_findings import PairFindings, read_pairs
from radreward.models.report_findings import ReportFindings
from radreward.models.rules_version import rules_version
from radreward.scorers.stateless import StatelessScorer
from radreward.scorers.status import STATUS_CANDIDATE_UNREAD, STATUS_OK, STATUS_REFERENCE_UNREAD
from radreward.text.fact_differences import DETAIL_WEIGHT, find_differences
from radreward.text.fact_matching import FactMatch, MatchResult, match_facts
from radreward.text.facts import Fact, describe_fact
from radreward.text.findings import URGENCIES, Urgency
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.text.report_reading import read_report
from radreward.text.sentence_splitter import PAIRS_READ_TOGETHER
from radreward.text.significance import patient_level, patient_weight
from radreward.types import Scores, Side

_WRONG_DETAIL = "wrong_detail"


class JudgedFinding(NamedTuple):
    """Evidence for a score: a finding of the reference, the candidate or both."""

    result: MatchResult
    reference: str
    """What the reference states on this finding, in standard words; empty if nothing."""
    candidate: str
    """What the candidate states on this finding, in standard words; empty if nothing."""
    significance: Urgency
    weight: float
    wrong_details: dict[str, float]
    """Details in which a matched finding differs, and their weights: 0 if a detail does not change care."""


class UnreadStatement(NamedTuple):
    """Evidence of what a score does not cover: a statement in which the rules read no finding."""

    side: Side
    """Report that contains the statement."""
    text: str


class Crimson(StatelessScorer):
    """CRIMSON's score (arXiv 2603.06183) of the findings of two reports, in (-1, 1], without a language model.

    1: nothing is missed, false or different; 0: no better than a normal report; below 0: false findings outweigh what
    is right. The findings of both reports are read by `read_pairs` and matched by `match_facts`. A finding weighs 1
    (urgent), ½ (actionable), ¼ (not actionable) or 0 (benign), see `patient_level`; age and indication of the
    patient change the weights. A matched finding has wrong details if the reports differ in place, name, certainty,
    severity, size or change; a detail that changes care weighs ½, see `find_differences`. `crimson_score` has the
    formula. Benign findings count neither as matches nor as errors, so that identical reports always score 1.

    The counts are those of `CrimsonCriteria`. The evidence of a row is a tuple of `JudgedFinding`, the heaviest first,
    and of `UnreadStatement` after them: a finding in words that the rules do not know, and that are similar to no name
    of a finding, is neither missed nor false. If no statement of a report is read, the status states it.

    >>> scorer = Crimson()
    >>> scorer.score(["Small left effusion. Pneumonia."], ["Pneumonia."]).total.item()
    0.6666666865348816
    """

    config_name = "crimson.json"
    title = "CRIMSON (rules)"
    criteria = CrimsonCriteria()
    total_range = (-1.0, 1.0)
    uses_context = True
    pairs_per_window = PAIRS_READ_TOGETHER
    requires_report = True

    def __init__(self) -> None:
        self.classifier = embedded_classifier()
        super().__init__()

    def code_version(self) -> str:
        """See `StatelessScorer.code_version`. The version includes classifier and rules."""
        return super().code_version() + fingerprint(self.classifier.fingerprint, rules_version())

    def _score_in_context(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> Scores:
        """See `Scorer._score_in_context`."""
        pairs = list(zip(references, candidates, strict=True))
        findings = read_pairs(references, candidates, self.classifier)
        rows = [
            judge_findings(_all_facts(own.reference, reference), _all_facts(own.candidate, candidate), context)
            for (reference, candidate), own, context in zip(pairs, findings, contexts, strict=True)
        ]
        counts = torch.tensor([self._count_errors(row) for row in rows]).reshape(len(rows), len(self.criteria))
        return Scores(
            total=torch.tensor([score_findings(row) for row in rows]),
            sub_scores=self.criteria.target_rewards(counts) + 0.0,  # -0 becomes 0
            error_counts=counts,
            status=tuple(map(_status, findings, pairs)),
            evidence=tuple(
                (
                    *row,
                    *_unread(Side.REFERENCE, own.reference, reference),
                    *_unread(Side.CANDIDATE, own.candidate, candidate),
                )
                for row, own, (reference, candidate) in zip(rows, findings, pairs, strict=True)
            ),
        )

    def mark_findings(
        self, evidence: Sequence[JudgedFinding | UnreadStatement], texts: Mapping[Side, str]
    ) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return complete_findings(texts)

    def _count_errors(self, findings: Sequence[JudgedFinding]) -> list[float]:
        counts = dict.fromkeys(self.criteria.tags, 0.0)
        for entry in findings:
            if entry.result == "matched":
                counts[_WRONG_DETAIL] += sum(1 for weight in entry.wrong_details.values() if weight)
            elif entry.weight:
                kind = "missing" if entry.result == "missed" else "false"
                counts[f"{entry.significance.replace(' ', '_')}_{kind}_finding"] += 1
        return list(counts.values())


def judge_findings(
    reference: Sequence[Fact], candidate: Sequence[Fact], context: PatientContext = NO_CONTEXT
) -> tuple[JudgedFinding, ...]:
    """Return the positive and resolved findings of two reports with their match and weights, the heaviest first.

    >>> left = Fact("effusion", location="left")
    >>> judge_findings([left, Fact("scar")], [left._replace(location="right")])[0].wrong_details
    {'location': 0.5}
    """
    judged = [_judge(match, context) for match in match_facts(reference, candidate)]
    return tuple(sorted(judged, key=lambda entry: -entry.weight))


def score_findings(findings: Sequence[JudgedFinding]) -> float:
    """Return `crimson_score` of judged findings that are not benign.

    >>> effusion, scar = Fact("effusion"), Fact("scar")
    >>> score_findings(judge_findings([effusion], [effusion, scar])), score_findings(judge_findings([effusion], []))
    (0.5, 0.0)
    """
    counted = [entry for entry in findings if entry.weight]
    weights = {
        result: sum(entry.weight for entry in counted if entry.result == result) for result in ("missed", "false")
    }
    matched = [(entry.weight, sum(entry.wrong_details.values())) for entry in counted if entry.result == "matched"]
    return crimson_score(matched, weights["false"], weights["missed"])


def _judge(match: FactMatch, context: PatientContext) -> JudgedFinding:
    """Return the judgement of a match. Its weight is that of the reference; a false finding has the candidate's."""
    facts = match.candidate if match.result == "false" else match.reference
    weight = sum(patient_weight(fact, context) for fact in facts)
    differences = find_differences(match) if match.result == "matched" else ()
    return JudgedFinding(
        match.result,
        " and ".join(map(describe_fact, match.reference)),
        " and ".join(map(describe_fact, match.candidate)),
        min((patient_level(fact, context) for fact in facts), key=URGENCIES.index),
        weight,
        {entry.detail: DETAIL_WEIGHT * entry.changes_care * bool(weight) for entry in differences},
    )


def _all_facts(findings: ReportFindings, report: str) -> tuple[Fact, ...]:
    return findings.all_facts(read_report(report).facts)


def _status(findings: PairFindings, reports: tuple[str, str]) -> str:
    """Return the status of a pair; it names the reference if nothing is read in both reports."""
    reads_reference, reads_candidate = map(_reads, findings, reports)
    if not reads_reference:
        return STATUS_REFERENCE_UNREAD
    return STATUS_OK if reads_candidate else STATUS_CANDIDATE_UNREAD


def _reads(findings: ReportFindings, report: str) -> bool:
    """Return False if no statement of a report is read or recognized, and it has statements."""
    reading = read_report(report)
    return reading.num_read > 0 or bool(findings.recognized) or not reading.unread


def _unread(side: Side, findings: ReportFindings, report: str) -> Iterator[UnreadStatement]:
    yield from (UnreadStatement(side, text) for text in read_report(report).unread if text not in findings.recognized)
