"""Findings from the evidence of every scorer that has one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward import load
from radreward.scorers.explanation import Explanation
from radreward.serving.findings import MarkedFinding, marked_findings
from radreward.systems.er2score.statements import StatementEvidence
from radreward.text.normalization import normalize_report
from radreward.types import Side

REFERENCE, CANDIDATE = (
    "Rib fracture. Small left effusion. No edema.",
    "Large right effusion. No edema. No edema. Nodule.",
)


@pytest.mark.parametrize("name", ["ratescore", "sentence-eval", "entity-f1", "chexpert-f1", "crimson"])
def test_shipped_scorers_have_findings_of_every_kind(name: str) -> None:
    scores = load(name).score([REFERENCE], [CANDIDATE])
    assert scores.evidence
    texts = {Side.REFERENCE: REFERENCE, Side.CANDIDATE: CANDIDATE}
    findings = marked_findings(scores.evidence[0], texts)
    assert {"missed", "invented"} <= {finding.kind for finding in findings}
    for side, kind in (("reference", "invented"), ("candidate", "missed")):
        assert not [finding for finding in findings if (finding.side, finding.kind) == (side, kind)]
    for finding in findings:
        if finding.start is not None:
            assert texts[finding.side][finding.start : finding.end] == finding.text


@pytest.mark.parametrize("name", ["ratescore", "sentence-eval", "entity-f1", "chexpert-f1", "crimson", "er2score"])
def test_nothing_is_missed_or_invented_in_a_denial_or_a_technique(name: str) -> None:
    reference = "Rib fracture. PA and lateral views."
    candidate = "Rib fracture. No effusion. The heart is normal."
    for first, second in ((reference, candidate), (candidate, reference)):
        scores = load(name).score([first], [second])
        assert scores.evidence
        findings = marked_findings(scores.evidence[0], {Side.REFERENCE: first, Side.CANDIDATE: second})
        assert not {"missed", "invented", "contradicted"} & {finding.kind for finding in findings}


@pytest.mark.parametrize("name", ["ratescore", "sentence-eval", "chexpert-f1"])
def test_finding_that_the_other_report_denies_is_contradicted(name: str) -> None:
    scores = load(name).score(["Pleural effusion."], ["No pleural effusion."])
    assert scores.evidence
    texts = {Side.REFERENCE: "Pleural effusion.", Side.CANDIDATE: "No pleural effusion."}
    findings = [finding for finding in marked_findings(scores.evidence[0], texts) if "effusion" in finding.text]
    assert [(finding.side, finding.kind) for finding in findings] == [
        (Side.REFERENCE, "contradicted"),
        (Side.CANDIDATE, "contradicted"),
    ]


def test_er2score_shows_findings_in_words_that_the_rules_do_not_know() -> None:
    reference, odd = "Rib fracture.", "Finely branching lines at the left base."
    scores = load("er2score").score([reference, odd], [odd, odd])
    assert scores.evidence
    for evidence in scores.evidence:
        assert {entry.text: entry.is_unread for entry in evidence} == {odd: True} | {
            entry.text: False for entry in evidence if entry.text == reference
        }
    statement = scores.evidence[0][0]._replace(errors={}, counterpart="")
    assert [finding.kind for finding in marked_findings((statement,), {})] == ["unread"]


def test_repeated_sentences_have_positions_of_their_own() -> None:
    scores = load("sentence-eval").score([CANDIDATE], [CANDIDATE])
    assert scores.evidence
    findings = marked_findings(scores.evidence[0], dict.fromkeys(Side, normalize_report(CANDIDATE)))
    assert [finding.start for finding in findings if finding.text == "No edema."] == [22, 32] * 2
    assert {finding.kind for finding in findings} == {"matched"}


def test_crimson_shows_both_reports_of_a_match_and_its_wrong_details() -> None:
    scores = load("crimson").score(["Large left effusion. Scarring."], ["Small left effusion. Scarring."])
    assert scores.evidence
    small, large = "mild left pleural effusion", "severe left pleural effusion"
    assert marked_findings(scores.evidence[0], {}) == [
        MarkedFinding(Side.REFERENCE, "differs", large, counterpart=small, criterion="severity"),
        MarkedFinding(Side.CANDIDATE, "differs", small, counterpart=large, criterion="severity"),
        MarkedFinding(Side.REFERENCE, "matched", "scarring", counterpart="scarring"),
        MarkedFinding(Side.CANDIDATE, "matched", "scarring", counterpart="scarring"),
    ]


def test_explanation_lists_matches_and_errors() -> None:
    explanation = Explanation(
        raw_answer="",
        finish_reason="stop",
        format_error=None,
        explanation=None,
        significant={},
        insignificant={},
        errors={"false_prediction": ("Nodule.",), "omission": ("Fracture.",), "incorrect_location": ("Side.",)},
        num_matched=1,
        matched_findings=("Effusion.",),
    )
    assert marked_findings(explanation, {}) == [
        MarkedFinding(Side.REFERENCE, "matched", "Effusion."),
        MarkedFinding(Side.CANDIDATE, "invented", "Nodule.", criterion="false prediction"),
        MarkedFinding(Side.REFERENCE, "missed", "Fracture.", criterion="omission"),
        MarkedFinding(Side.CANDIDATE, "differs", "Side.", criterion="incorrect location"),
    ]


@pytest.mark.parametrize("evidence", [None, (), "text", 3, {"a": 1}, [{"line": "1"}], ({"a": 1},)])
def test_evidence_of_another_form_has_no_findings(evidence: object) -> None:
    assert marked_findings(evidence, {Side.REFERENCE: "Clear.", Side.CANDIDATE: "Clear."}) == []


def test_statements_with_likely_errors_and_matches_are_marked() -> None:
    statements = (
        StatementEvidence(Side.CANDIDATE, "Edema.", 0, 6, {"significant_false_prediction": 0.8}, "No nodule."),
        StatementEvidence(Side.CANDIDATE, "No nodule.", 7, 17, {"insignificant_omission": 0.2}, "No nodule."),
        StatementEvidence(Side.REFERENCE, "No nodule.", 0, 10, {}, "No nodule."),
        StatementEvidence(Side.REFERENCE, "Effusion.", 11, 20, {"significant_omission": 0.9}, "Edema."),
        StatementEvidence(Side.REFERENCE, "Clear.", 21, 27, {}, "Edema."),
    )
    found = marked_findings(
        statements, {Side.CANDIDATE: "Edema. No nodule.", Side.REFERENCE: "No nodule. Effusion. Clear."}
    )
    assert [(entry.side, entry.kind, entry.text, entry.start, entry.end) for entry in found] == [
        ("candidate", "invented", "Edema.", 0, 6),
        ("candidate", "matched", "No nodule.", 7, 17),
        ("reference", "matched", "No nodule.", 0, 10),
        ("reference", "missed", "Effusion.", 11, 20),
    ]
    assert [entry.criterion for entry in found] == ["significant false prediction", "", "", "significant omission"]


def test_contradicted_statement_is_not_matched() -> None:
    reference, candidate = "No pneumothorax.", "Right pneumothorax."
    scores = load("er2score").score([reference], [candidate])
    assert scores.evidence
    found = marked_findings(scores.evidence[0], {Side.REFERENCE: reference, Side.CANDIDATE: candidate})
    criterion = "significant false prediction"
    assert found == [
        MarkedFinding(Side.CANDIDATE, "contradicted", candidate, 0, 19, reference, criterion),
        MarkedFinding(Side.REFERENCE, "contradicted", reference, 0, 16, candidate, criterion),
    ]


_STATEMENTS = st.sampled_from(["No edema.", "Edema.", "Small effusion.", "Large effusion.", "No effusion.", "Nodule."])
_ERRORS = st.dictionaries(
    st.sampled_from(["significant_false_prediction", "significant_omission", "insignificant_incorrect_severity"]),
    st.floats(0.05, 2.0),
)


@given(st.lists(st.tuples(st.sampled_from(Side), _STATEMENTS, _ERRORS, _STATEMENTS), unique_by=lambda row: row[:2]))
def test_match_has_an_error_on_neither_side(rows: list[tuple[Side, str, dict[str, float], str]]) -> None:
    evidence = tuple(StatementEvidence(side, text, 0, 1, errors, other) for side, text, errors, other in rows)
    errors = {(entry.side, entry.text): max(entry.errors.values(), default=0.0) for entry in evidence}
    for finding in marked_findings(evidence, {}):
        if finding.kind in ("missed", "invented"):
            assert errors[finding.side, finding.text] >= 0.5
            assert finding.counterpart == ""
            continue
        both = [errors[finding.side, finding.text], errors.get((finding.side.other, finding.counterpart), 0.0)]
        assert (max(both) < 0.5) == (finding.kind == "matched")
        assert finding.counterpart
        assert bool(finding.criterion) == (finding.kind != "matched")
