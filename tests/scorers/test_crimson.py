"""Tests of the CRIMSON scorer: the formula end to end, attribute errors by the guideline, context, and invariances."""

from itertools import permutations
from random import Random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.scorers import load
from radreward.scorers.crimson import (
    Crimson,
    JudgedFinding,
    UnreadStatement,
    judge_findings,
    score_findings,
)
from radreward.scorers.status import STATUS_CANDIDATE_UNREAD, STATUS_OK, STATUS_REFERENCE_UNREAD
from radreward.text.fact_matching import MatchResult
from radreward.text.facts import Fact
from radreward.text.findings import URGENCIES, Urgency
from radreward.text.patient_context import PatientContext
from radreward.text.report_reading import read_report
from radreward.types import Scores, Side

WEIGHTS = {"urgent": 1.0, "actionable": 0.5, "not actionable": 0.25, "benign": 0.0}
SENTENCES = (
    "Large right pneumothorax.",
    "Moderate left pleural effusion.",
    "Consolidation in the right lower lobe.",
    "Mild pulmonary edema.",
    "Bibasilar atelectasis.",
    "5 mm nodule in the left upper lobe.",
    "Degenerative changes of the spine.",
    "Possible rib fracture on the left.",
    "No pneumomediastinum.",
)
"""Sentences about findings of which none is a kind, a sign or a vague name of another."""
SCORER = Crimson()
reports = st.lists(st.sampled_from(SENTENCES), min_size=1, unique=True)


@st.composite
def judged_findings(draw: st.DrawFn) -> JudgedFinding:
    result: MatchResult = draw(st.sampled_from(get_args(MatchResult)))
    level: Urgency = draw(st.sampled_from(URGENCIES))
    names = draw(st.lists(st.sampled_from(["location", "severity", "size", "change"]), unique=True))
    details = {name: draw(st.sampled_from([0.0, 0.5])) for name in names} if result == "matched" else {}
    return JudgedFinding(result, "", "", level, WEIGHTS[level], details)


def score_by_steps(findings: list[JudgedFinding]) -> float:
    """Return the published score step by step, for findings that are not benign."""
    reference = correct = false = 0.0
    for finding in findings:
        weight, details = WEIGHTS[finding.significance], sum(finding.wrong_details.values())
        if finding.result == "false":
            false += weight
            continue
        reference += weight
        if finding.result == "matched" and weight > 0:
            correct += weight * (weight / (weight + details))
    if reference == 0:
        return 1.0 if false == 0 else -false / (1 + false)
    if correct >= false:
        return (correct - false) / reference
    return -(false - correct) / (1 + false - correct)


def score(reference: str, candidate: str, context: PatientContext | None = None) -> float:
    return float(SCORER.score([reference], [candidate], [context]).total)


def only_finding(reference: str, candidate: str) -> JudgedFinding:
    (finding,) = judge_findings(read_report(reference).facts, read_report(candidate).facts)
    return finding


@given(st.lists(judged_findings(), max_size=8))
def test_score_of_judged_findings_agrees_with_published_steps(findings: list[JudgedFinding]) -> None:
    assert score_findings(findings) == pytest.approx(score_by_steps(findings))
    assert -1 < score_findings(findings) <= 1


def test_score_of_worked_example() -> None:
    # Correct is 0.5 · 0.5 / (0.5 + 0.5), and 0.5 is false: S = (0.25 - 0.5) / 1 and x = 0.25.
    reference = "Moderate left pleural effusion. Pneumonia."
    assert score(reference, "Moderate right pleural effusion. Rib fracture.") == pytest.approx(-0.2)


@settings(deadline=None, max_examples=25)
@given(reports, reports, st.randoms(use_true_random=False))
def test_score_is_invariant_to_order_and_bounded(reference: list[str], candidate: list[str], rng: Random) -> None:
    total = score(" ".join(reference), " ".join(candidate))
    assert score(" ".join(reference), " ".join(reference)) == 1
    assert -1 < total <= 1
    rng.shuffle(reference)
    rng.shuffle(candidate)
    assert score(" ".join(reference), " ".join(candidate)) == total
    if total == 1:
        # Only absent findings may differ.
        benign = set(SENTENCES[8:])
        assert set(reference) - benign == set(candidate) - benign


def test_score_does_not_depend_on_order_of_similar_findings() -> None:
    sentences = ("Nodule in the right upper lobe.", "Nodule in the left lower lobe.", "Mass in the right middle lobe.")
    candidate = "Nodule in the right lower lobe. Mass in the right upper lobe."
    assert len({score(" ".join(order), candidate) for order in permutations(sentences)}) == 1


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        ("No acute disease.", 0.0),
        ("Clear lungs. No pneumothorax.", 0.0),
        ("Large right pneumothorax. Mild edema.", 1.0),
        ("Large right pneumothorax.", 2 / 3),
        ("Mild edema.", 1 / 3),
        ("Large right pneumothorax. Mild edema. Degenerative changes of the spine.", 1.25 / 1.5),
        ("Rib fracture. Lung mass.", -0.5),
    ],
)
def test_score_of_candidates_for_two_findings(candidate: str, expected: float) -> None:
    assert score("Large right pneumothorax. Mild edema.", candidate) == pytest.approx(expected)


def test_benign_findings_do_not_count() -> None:
    spine, old = "Degenerative changes of the spine.", PatientContext(70)
    candidates = [spine, "Clear lungs.", f"{spine} Kyphosis.", "Pneumonia."]
    total = Crimson().score([spine] * 4, candidates, [old] * 4).total
    assert total.tolist() == pytest.approx([1.0, 1.0, 1.0, -1 / 3])
    assert [score(spine, text) for text in candidates] == pytest.approx([1.0, 0.0, 0.0, -1 / 3])


@pytest.mark.parametrize(
    ("reference", "candidate", "details"),
    [
        ("Left effusion.", "Left effusion.", {}),
        ("Left effusion.", "Right effusion.", {"location": 0.5}),
        ("Left effusion.", "Effusion.", {}),
        ("Effusion.", "Left effusion.", {}),
        ("Opacity in the right upper lobe.", "Opacity in the right middle lobe.", {"location": 0.0}),
        ("Opacity in the right upper lobe.", "Opacity in the right lower lobe.", {"location": 0.5}),
        ("Large effusion.", "Small effusion.", {"severity": 0.5}),
        ("Small effusion.", "Tiny effusion.", {}),
        ("Moderate edema.", "Severe edema.", {"severity": 0.0}),
        ("5 mm nodule in the left lung.", "7 mm nodule in the left lung.", {}),
        ("5 mm nodule in the left lung.", "8 mm nodule in the left lung.", {"size": 0.5}),
        ("14 mm nodule in the left lung.", "18 mm nodule in the left lung.", {}),
        ("14 mm nodule in the left lung.", "19 mm nodule in the left lung.", {"size": 0.5}),
        ("50 mm mass in the left lung.", "41 mm mass in the left lung.", {}),
        ("50 mm mass in the left lung.", "39 mm mass in the left lung.", {"size": 0.5}),
        ("29 mm mass in the left lung.", "31 mm mass in the left lung.", {"size": 0.5}),
        ("Pneumothorax.", "Possible pneumothorax.", {"certainty": 0.5}),
        ("Probable pneumonia.", "Likely pneumonia.", {}),
        ("Pneumonia.", "Opacity.", {"name": 0.5}),
        ("Pneumonia.", "Consolidation.", {"name": 0.0}),
        ("Left effusion.", "New left effusion.", {"change": 0.5}),
        ("Left effusion, worse.", "Left effusion, improved.", {"change": 0.5}),
        ("Stable left effusion.", "Left effusion.", {}),
        ("Left effusion.", "Stable left effusion.", {"change": 0.0}),
        ("Bilateral effusions.", "Left effusion. Right effusion.", {}),
        ("Bilateral effusions.", "Left effusion.", {"location": 0.5}),
    ],
)  # fmt: skip
def test_wrong_details_of_a_match_follow_the_guideline(
    reference: str, candidate: str, details: dict[str, float]
) -> None:
    finding = only_finding(reference, candidate)
    assert finding.result == "matched"
    assert finding.wrong_details == details


def test_vague_name_elsewhere_is_missed_and_false() -> None:
    findings = judge_findings([Fact("pneumonia", location="left lower")], [Fact("opacity", location="right upper")])
    assert sorted(finding.result for finding in findings) == ["false", "missed"]


def test_resolved_finding_is_a_finding_of_its_own() -> None:
    resolved, present = "The pneumothorax has resolved.", "Pneumothorax."
    assert only_finding(resolved, resolved).result == "matched"
    assert only_finding(present, resolved)[:3] == ("missed", "pneumothorax", "pneumothorax, resolved")
    assert only_finding(resolved, present).result == "false"


def test_indication_and_age_change_weights_and_total() -> None:
    reference, candidate = "Mild pulmonary edema. Large right pneumothorax.", "Large right pneumothorax."
    explained = PatientContext(70, "History of heart failure.")
    assert score(reference, candidate, explained) > score(reference, candidate)
    scores = Crimson().score([reference] * 2, [candidate] * 2, [None, explained])
    assert scores.evidence is not None
    weights = [{entry.reference: entry.weight for entry in row}["mild pulmonary edema"] for row in scores.evidence]
    assert weights == [0.5, 0.25]
    calcified = "Aortic calcification. Pneumonia."
    assert score(calcified, "Pneumonia.", PatientContext(80)) == 1 > score(calcified, "Pneumonia.", PatientContext(40))


def counts_of(scores: Scores) -> dict[str, float]:
    assert scores.error_counts is not None
    assert scores.count_names is not None
    counts = dict(zip(scores.count_names, scores.error_counts[0].tolist(), strict=True))
    return {tag: count for tag, count in counts.items() if count}


def test_counts_are_errors_by_significance() -> None:
    reference = "Large pneumothorax. Left effusion. Bibasilar atelectasis. Scoliosis."
    scores = Crimson().score([reference], ["Right effusion. Lung mass. Kyphosis."])
    assert counts_of(scores) == {
        "urgent_missing_finding": 1,
        "not_actionable_missing_finding": 2,
        "actionable_false_finding": 1,
        "not_actionable_false_finding": 1,
        "wrong_detail": 1,
    }
    assert scores.errors is not None
    assert scores.errors.tolist() == [6.0]


def test_evidence_has_heaviest_finding_first() -> None:
    scores = Crimson().score(["Scarring. Left effusion. Pneumothorax."], ["Possible left effusion, new. Scoliosis."])
    assert scores.evidence is not None
    assert scores.evidence[0] == (
        JudgedFinding("missed", "pneumothorax", "", "urgent", 1.0, {}),
        JudgedFinding(
            "matched",
            "left pleural effusion",
            "possible left pleural effusion, new",
            "actionable",
            0.5,
            {"certainty": 0.0, "change": 0.5},
        ),
        JudgedFinding("missed", "scarring", "", "not actionable", 0.25, {}),
        JudgedFinding("false", "", "scoliosis", "not actionable", 0.25, {}),
    )


def test_text_that_is_no_report_gets_status() -> None:
    scores = load("crimson").score(["Pneumonia."], ["The cat sat on the mat."])
    assert scores.total.isnan().all()
    assert "no finding and no normal statement recognised in the candidate" in scores.status[0]


def test_evidence_lists_what_is_not_read() -> None:
    reference = "Small left effusion. An odd shape near the spine."
    evidence = SCORER.score([reference], ["Small left effusion. The heart looks peculiar."]).evidence
    assert evidence is not None
    assert evidence[0][1:] == (
        UnreadStatement(Side.REFERENCE, "An odd shape near the spine."),
        UnreadStatement(Side.CANDIDATE, "The heart looks peculiar."),
    )


def test_report_in_which_nothing_is_read_has_a_status() -> None:
    odd = "An odd shape near the spine. Odd lungs."
    scores = SCORER.score(["Pneumonia.", odd, "Pneumonia.", odd], [odd, "Pneumonia.", f"{odd} Clear lungs.", odd])
    assert scores.status == (STATUS_CANDIDATE_UNREAD, STATUS_REFERENCE_UNREAD, STATUS_OK, STATUS_REFERENCE_UNREAD)
    assert scores.total[:3].tolist() == [0.0, pytest.approx(-1 / 3), 0.0]
