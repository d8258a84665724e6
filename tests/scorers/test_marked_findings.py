"""Findings that scorers mark by their evidence."""

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward import load
from radreward.models.marked_findings import MarkedFinding, complete_findings
from radreward.scorers.explanation import Explanation, mark_explanation
from radreward.systems.er2score.statements import StatementEvidence, mark_statements
from radreward.systems.sentence_eval.scorer import JudgedSentence
from radreward.text.normalization import normalize_report
from radreward.text.sentence_splitter import sentence_spans
from radreward.types import Side

REFERENCE, CANDIDATE = (
    "Rib fracture. Small left effusion. No edema.",
    "Large right effusion. No edema. No edema. Nodule.",
)


@pytest.mark.parametrize("name", ["ratescore", "sentence-eval", "entity-f1", "chexpert-f1", "crimson"])
def test_shipped_scorers_have_findings_of_every_kind(name: str) -> None:
    scorer = load(name)
    scores = scorer.score([REFERENCE], [CANDIDATE])
    assert scores.evidence
    texts = {Side.REFERENCE: REFERENCE, Side.CANDIDATE: CANDIDATE}
    findings = scorer.mark_findings(scores.evidence[0], texts)
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
        scorer = load(name)
        scores = scorer.score([first], [second])
        assert scores.evidence
        findings = scorer.mark_findings(scores.evidence[0], {Side.REFERENCE: first, Side.CANDIDATE: second})
        assert not {"missed", "invented", "contradicted"} & {finding.kind for finding in findings}


@pytest.mark.parametrize("name", ["ratescore", "sentence-eval", "chexpert-f1"])
def test_finding_that_the_other_report_denies_is_contradicted(name: str) -> None:
    scorer = load(name)
    scores = scorer.score(["Pleural effusion."], ["No pleural effusion."])
    assert scores.evidence
    texts = {Side.REFERENCE: "Pleural effusion.", Side.CANDIDATE: "No pleural effusion."}
    findings = [finding for finding in scorer.mark_findings(scores.evidence[0], texts) if "effusion" in finding.text]
    assert [(finding.side, finding.kind) for finding in findings] == [
        (Side.REFERENCE, "contradicted"),
        (Side.CANDIDATE, "contradicted"),
    ]


def test_er2score_shows_findings_in_words_that_the_rules_do_not_know() -> None:
    reference, odd = "Rib fracture.", "Spidery lines in the left lower lobe."
    scorer = load("er2score")
    scores = scorer.score([reference, odd], [odd, odd])
    assert scores.evidence
    for evidence in scores.evidence:
        assert {entry.text: entry.is_unread for entry in evidence} == {odd: True} | {
            entry.text: False for entry in evidence if entry.text == reference
        }
    statement = scores.evidence[0][0]._replace(errors={}, counterpart="")
    texts = {Side.REFERENCE: reference, Side.CANDIDATE: odd}
    assert [(entry.kind, entry.text) for entry in complete_findings(texts, mark_statements((statement,)))] == [
        ("missed", reference),
        ("unread", odd),
    ]


@pytest.mark.parametrize("name", ["crimson", "entity-f1", "ratescore", "sentence-eval"])
def test_statement_that_only_may_report_a_finding_is_not_read_and_not_missed(name: str) -> None:
    odd, edema = "A strange look of the picture.", "Edema."
    scorer = load(name)
    scores = scorer.score([f"{odd} {edema}"], [edema])
    assert scores.evidence
    found = scorer.mark_findings(scores.evidence[0], {Side.REFERENCE: f"{odd} {edema}", Side.CANDIDATE: edema})
    assert [(entry.kind, entry.text) for entry in found] == [("unread", odd), ("matched", edema), ("matched", edema)]


def test_repeated_sentences_have_positions_of_their_own() -> None:
    scorer = load("sentence-eval")
    scores = scorer.score([CANDIDATE], [CANDIDATE])
    assert scores.evidence
    findings = scorer.mark_findings(scores.evidence[0], dict.fromkeys(Side, normalize_report(CANDIDATE)))
    assert [finding.start for finding in findings if finding.text == "No edema."] == [22, 32] * 2
    assert {finding.kind for finding in findings} == {"matched"}


def test_crimson_shows_the_statements_of_a_match_and_the_details_that_differ() -> None:
    reference, candidate = "Large left effusion. Scarring.", "Small left effusion. Scarring."
    scorer = load("crimson")
    scores = scorer.score([reference], [candidate])
    assert scores.evidence
    large, small = "Large left effusion.", "Small left effusion."
    assert scorer.mark_findings(scores.evidence[0], {Side.REFERENCE: reference, Side.CANDIDATE: candidate}) == [
        MarkedFinding(Side.REFERENCE, "differs", large, 0, 20, small, details=("severity",)),
        MarkedFinding(Side.REFERENCE, "matched", "Scarring.", 21, 30, "Scarring."),
        MarkedFinding(Side.CANDIDATE, "differs", small, 0, 20, large, details=("severity",)),
        MarkedFinding(Side.CANDIDATE, "matched", "Scarring.", 21, 30, "Scarring."),
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
    assert list(mark_explanation(explanation)) == [
        MarkedFinding(Side.REFERENCE, "matched", "Effusion."),
        MarkedFinding(Side.CANDIDATE, "invented", "Nodule.", criterion="false prediction"),
        MarkedFinding(Side.REFERENCE, "missed", "Fracture.", criterion="omission"),
        MarkedFinding(Side.CANDIDATE, "differs", "Side.", criterion="incorrect location"),
    ]


@pytest.mark.parametrize("name", ["temporal-f1", "radreason"])
def test_other_evidence_marks_parts_without_positions(name: str) -> None:
    scorer = load(name)
    scores = scorer.score(["Worse left effusion."], ["Better left effusion."])
    assert scores.evidence
    texts = {Side.REFERENCE: "Worse left effusion.", Side.CANDIDATE: "Better left effusion."}
    found = scorer.mark_findings(scores.evidence[0], texts)
    assert found
    assert not [finding for finding in found if finding.start is not None]


def test_evidence_decides_about_what_the_rules_do_not_read() -> None:
    odd = "Spidery lines in the left lower lobe."
    texts = {Side.REFERENCE: "Rib fracture. Technique: portable. Nodule.", Side.CANDIDATE: f"{odd} No nodule."}
    statements = (
        StatementEvidence(Side.CANDIDATE, odd, 0, 37, {}, "Rib fracture."),
        StatementEvidence(Side.CANDIDATE, "No nodule.", 38, 48, {}, "Technique: portable."),
        StatementEvidence(Side.REFERENCE, "Rib fracture.", 0, 13, {}, odd),
        StatementEvidence(Side.REFERENCE, "Technique: portable.", 14, 34, {"omission": 0.8}, "No nodule."),
        StatementEvidence(Side.REFERENCE, "Nodule.", 35, 42, {"omission": 0.7, "incorrect_severity": 0.6}, odd),
    )
    assert [tuple(asdict(entry).values())[:7] for entry in complete_findings(texts, mark_statements(statements))] == [
        ("reference", "matched", "Rib fracture.", 0, 13, odd, ""),
        ("reference", "missed", "Technique: portable.", 14, 34, "", "omission"),
        ("reference", "missed", "Nodule.", 35, 42, "", "omission, incorrect severity"),
        ("candidate", "matched", odd, 0, 37, "Rib fracture.", ""),
    ]


@pytest.mark.parametrize(
    ("reference", "criteria"), [("Edema.", ["", "omission"]), ("Nodule. Edema.", ["omission", "omission"])]
)
def test_errors_of_a_sentence_are_shown_in_its_findings_that_do_not_match(reference: str, criteria: list[str]) -> None:
    candidate = "Edema and nodule, no effusion."
    statement = StatementEvidence(Side.CANDIDATE, candidate, 0, len(candidate), {"omission": 0.9}, "")
    found = complete_findings({Side.REFERENCE: reference, Side.CANDIDATE: candidate}, mark_statements((statement,)))
    assert [(entry.text, entry.criterion) for entry in found if entry.side is Side.CANDIDATE] == [
        *zip(["Edema", "nodule"], criteria, strict=True)
    ]


def test_contradicted_statement_is_not_matched() -> None:
    reference, candidate = "No pneumothorax.", "Right pneumothorax."
    scorer = load("er2score")
    scores = scorer.score([reference], [candidate])
    assert scores.evidence
    found = scorer.mark_findings(scores.evidence[0], {Side.REFERENCE: reference, Side.CANDIDATE: candidate})
    criterion = "significant false prediction"
    assert found == [
        MarkedFinding(Side.REFERENCE, "contradicted", reference, 0, 16, candidate, criterion),
        MarkedFinding(Side.CANDIDATE, "contradicted", candidate, 0, 19, reference, criterion),
    ]


def test_scorers_agree_on_what_the_rules_read() -> None:
    pairs = [
        ("Small left pleural effusion. Heart is enlarged.", "Cardiomegaly. Mild effusion on the left."),
        ("Bilateral effusions and rib fracture.", "Left effusion. Right effusion. No rib fracture."),
        ("A 6 mm nodule in the RUL.\n\nPA and lateral views.", "A 2.2 cm nodule in the RUL w/o PTX."),
        ("The effusion has resolved. Pneumonia.", "Moderate effusion. Possible pneumonia. Scarring."),
        ("Nodule. No pneumothorax, effusion or edema.", "Effusion. The heart is normal."),
    ]
    scorers = {name: load(name) for name in ("crimson", "entity-f1", "er2score", "ratescore", "sentence-eval")}
    found = {
        name: [
            [replace(entry, criterion="") for entry in scorer.mark_findings(evidence, _texts(*pair))]
            for evidence, pair in zip(scorer.score(*zip(*pairs, strict=True)).evidence or (), pairs, strict=True)
        ]
        for name, scorer in scorers.items()
    }
    for name, rows in found.items():
        for row, expected in zip(rows, found["crimson"], strict=True):
            assert row == expected, name
    assert {entry.kind for row in found["crimson"] for entry in row} == {
        "matched", "differs", "contradicted", "missed", "invented"
    }  # fmt: skip


def _texts(reference: str, candidate: str) -> dict[Side, str]:
    return {Side.REFERENCE: normalize_report(reference), Side.CANDIDATE: normalize_report(candidate)}


SENTENCES = load("sentence-eval")
_SENTENCES = st.sampled_from(
    [
        "No edema.", "Edema.", "Small effusion", "Large R effusion w/o PTX.", "Effusion and nodule, but no edema.",
        "The effusion has resolved.", "No effusion or pneumothorax",
        "Opacities in the right upper and left lower lobes.", "PA and lateral views.",
        "Spidery lines in the left lower lobe.", "The heart is normal.", "INDICATION: cough",
    ]
)  # fmt: skip
_REPORTS = st.lists(st.tuples(_SENTENCES, st.sampled_from([" ", "\n", "\n\n", " \u00a0"])), min_size=1, max_size=6).map(
    lambda parts: normalize_report("".join(map("".join, parts)))
)


@given(_REPORTS, _REPORTS, st.data())
def test_no_evidence_changes_what_the_rules_read(reference: str, candidate: str, data: st.DataObject) -> None:
    texts = _texts(reference, candidate)
    alone = set(complete_findings(texts))
    unread = "".join(entry.text for entry in alone if entry.kind == "unread")
    sentences = [(side, *span) for side in Side for span in sentence_spans(texts[side])]
    counterparts = {side: [texts[side][start:end] for own, start, end in sentences if own is side] for side in Side}

    def drawn_match(side: Side) -> str:
        others = [text for text in counterparts[side.other] if not {*text.split()} & {*unread.split()}]
        return data.draw(st.sampled_from([*others, ""]))

    errors = st.dictionaries(
        st.sampled_from(["false_prediction", "omission", "incorrect_severity"]), st.floats(0.05, 2)
    )
    located = [
        StatementEvidence(side, texts[side][start:end], start, end, data.draw(errors), drawn_match(side))
        for side, start, end in sentences
    ]
    judged = [
        JudgedSentence(side, texts[side][start:end], data.draw(st.sampled_from([-1.0, 0.0, 0.5, 1.0])), (other,))
        for side, start, end in sentences
        if (other := drawn_match(side))
    ]
    for found in (complete_findings(texts, mark_statements(located)), SENTENCES.mark_findings(judged, texts)):
        assert found == sorted(found, key=lambda entry: (list(Side).index(entry.side), entry.span))
        for entry in found:
            assert entry.text == texts[entry.side][entry.start : entry.end]
        if found:
            assert {replace(entry, criterion="") for entry in found} >= {x for x in alone if x.kind != "unread"}
        spans = [(entry.side, *entry.span) for entry in found]
        assert len(spans) == len(set(spans))


def test_finding_in_other_words_is_marked_like_one_that_rules_read() -> None:
    texts = {Side.REFERENCE: "There is fluid in the space around the right lung.", Side.CANDIDATE: "Right effusion."}
    assert {finding.kind for finding in complete_findings(texts)} == {"matched"}
    texts[Side.CANDIDATE] = "Right scoliosis."
    statement = StatementEvidence(
        Side.CANDIDATE, texts[Side.CANDIDATE], 0, 16, {"significant_false_prediction": 1.0}, ""
    )
    kinds = {finding.side: finding.kind for finding in complete_findings(texts, mark_statements((statement,)))}
    assert kinds == {Side.REFERENCE: "missed", Side.CANDIDATE: "invented"}
