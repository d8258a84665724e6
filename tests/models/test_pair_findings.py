"""Findings of two reports that are read in the light of each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward import load
from radreward.models.finding_classifier import FindingClassifier, embedded_classifier
from radreward.models.pair_findings import read_pairs
from radreward.models.report_findings import ReportFindings, read_findings
from radreward.models.statement_comparison import compare_statements
from radreward.testing.hostile_reports import hostile_reports
from radreward.text.report_reading import read_report
from radreward.types import Side

UNREAD = "Lymph glands at both lung roots are swollen."
PARTLY = "Scarring in the lower zones of both lungs, with net-like lines that shrink them."
STATEMENTS = (
    "Hilar adenopathy.",
    UNREAD,
    "No effusion.",
    "Rib fracture.",
    "A rib on the right side is broken.",
    PARTLY,
)


@pytest.fixture(scope="module")
def classifier() -> FindingClassifier:
    return embedded_classifier()


def candidate_findings(reference: str, candidate: str, classifier: FindingClassifier) -> ReportFindings:
    [(_, findings)] = read_pairs([reference], [candidate], classifier)
    return findings


def test_unread_statement_is_taken_for_a_finding_of_the_other_report(classifier: FindingClassifier) -> None:
    findings = candidate_findings("Hilar adenopathy.", UNREAD, classifier)
    assert [fact.finding for fact in findings.facts] == ["adenopathy"]
    assert findings.recognized.keys() == {UNREAD}
    assert findings.unread == ()
    [(reference, _)] = read_pairs([UNREAD], ["Hilar adenopathy."], classifier)
    assert [fact.finding for fact in reference.facts] == ["adenopathy"]


def test_statement_without_a_matching_finding_stays_as_it_is(classifier: FindingClassifier) -> None:
    findings = candidate_findings("Pneumoperitoneum.", UNREAD, classifier)
    assert findings == read_findings([UNREAD], classifier)[UNREAD]


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("Right hilar enlargement.", "The heart is enlarged; hila normal."),  # called normal
        ("Left atrial enlargement.", "Prominent right atrium."),  # the finding that is read is more similar
        ("Old rib fractures. Acute rib fractures.", "Acute right rib fractures."),  # matches another finding
        ("Left pneumothorax.", "No pneumothorax, but air leaks around the left lung."),  # denied
        ("Pulmonary edema.", "Fluid surrounds the lung."),  # certainly an effusion
    ],
)
def test_statement_that_means_something_else_is_not_taken(
    reference: str, candidate: str, classifier: FindingClassifier
) -> None:
    before = read_findings([candidate], classifier)[candidate]
    assert candidate_findings(reference, candidate, classifier) == before


def test_clauses_of_a_statement_are_taken_for_several_findings(classifier: FindingClassifier) -> None:
    candidate = "A little fluid in both pleural cavities; the aorta is uncoiled, and lymph glands are swollen."
    findings = candidate_findings("Effusion. Adenopathy. Tortuous aorta.", candidate, classifier)
    assert sorted(fact.finding for fact in findings.facts) == ["adenopathy", "effusion", "tortuous"]
    compared = compare_statements(
        {Side.REFERENCE: "Effusion. Adenopathy. Tortuous aorta.", Side.CANDIDATE: candidate},
        classifier,
    )
    assert {entry.kind for entry in compared} == {"matched"}


def test_clause_is_taken_rather_than_its_sentence_whose_other_findings_remain(classifier: FindingClassifier) -> None:
    reference = "Left pneumothorax. Bronchiectasis of the lingula and the left lower lobe."
    candidate = (
        "Air has collected around the right lung; a drain is present on the left. "
        "Airways of the left lower lobe are dilated and thick-walled, with a new lobar consolidation and an effusion."
    )
    findings = candidate_findings(reference, candidate, classifier)
    places = {fact.finding: fact.location for fact in findings.facts}
    assert places["pneumothorax"] == "right"
    assert {"bronchiectasis", "consolidation", "effusion"} <= places.keys()
    assert len(findings.facts) == len(places)


@pytest.mark.parametrize(
    "clause",
    [
        "the patient was asked to come back in two weeks",
        "the patient was imaged sitting on the edge of the bed",
        "comparison is made with the film of March",
    ],
)
def test_clause_without_a_finding_is_taken_for_none(clause: str, classifier: FindingClassifier) -> None:
    reference = "Small right effusion. Low lung volumes. Pneumonia. Lung mass. Abscess. Step-off of a rib."
    findings = candidate_findings(reference, f"Small right effusion of unclear cause and {clause}.", classifier)
    assert [fact.finding for fact in findings.facts] == ["effusion"]


def test_what_is_not_certain_alone_is_taken_for_a_finding_of_the_other_report(
    classifier: FindingClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("radreward.models.report_findings.CERTAIN", 1.1)
    candidate = "Gas at the dome of the liver."
    assert read_findings([candidate], classifier)[candidate].facts == ()
    [(_, findings)] = read_pairs(["Free air under the diaphragm."], [candidate], classifier)
    assert [fact.finding for fact in findings.facts] == ["freeair"]


def test_statement_is_taken_once(classifier: FindingClassifier) -> None:
    findings = candidate_findings("Sarcoidosis. Hilar adenopathy.", UNREAD, classifier)
    assert len(findings.facts) == 1


@given(st.lists(st.sampled_from(STATEMENTS), max_size=4), st.lists(st.sampled_from(STATEMENTS), max_size=4))
def test_pairs_keep_their_order_and_what_is_matched(first: list[str], second: list[str]) -> None:
    classifier, texts = embedded_classifier(), (" ".join(first), " ".join(second))
    swapped, same, again = read_pairs([texts[1], texts[0], texts[1]], [texts[0], texts[0], texts[0]], classifier)
    alone = read_findings(texts, classifier)
    assert swapped == again
    assert same == (alone[texts[0]], alone[texts[0]])
    for findings, text in zip(swapped, (texts[1], texts[0]), strict=True):
        assert set(findings.recognized) >= set(alone[text].recognized)
        assert len(findings.unread) + len(findings.recognized) >= len(alone[text].unread)


@given(hostile_reports(max_length=300), hostile_reports(max_length=300))
def test_hostile_reports_are_read_in_pairs(first: str, second: str) -> None:
    for findings, report in zip(*read_pairs([first], [second], embedded_classifier()), (first, second), strict=True):
        reading = read_report(report)
        known = {*reading.unread, *(entry.text for entry in reading.partly_read)}
        assert {*findings.recognized, *findings.unread} <= known


@pytest.mark.parametrize("name", ["er2score", "crimson", "ratescore", "entity-f1", "sentence-eval"])
def test_scorers_give_credit_to_a_finding_in_other_words(name: str) -> None:
    scorer = load(name)
    scores = scorer.score(["Hilar adenopathy."] * 2, [UNREAD, "A strange shape is seen at the left apex."])
    values = scores.total if name == "crimson" else scores.quality
    assert values is not None
    assert values[0] > 0.8
    assert not values[1] > 0.7


def test_clause_beside_a_matching_one_is_taken_for_another_finding(classifier: FindingClassifier) -> None:
    candidate = "Less fluid on the right than before, yet the lungs are wetter."
    findings = candidate_findings("Smaller right effusion. Worse pulmonary edema.", candidate, classifier)
    assert {fact.finding for fact in findings.facts} == {"edema", "effusion"}
    assert len(findings.facts) == len(set(findings.facts))
    assert {fact.finding for fact in findings.recognized[candidate]} == {"edema", "effusion"}
    assert {fact.finding for fact in candidate_findings("Pulmonary edema.", candidate, classifier).facts} == {"edema"}
