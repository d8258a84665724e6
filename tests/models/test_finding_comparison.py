"""The comparison of the findings of two reports by rules, and the quality that follows from it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.models.finding_comparison import break_ties, compare_findings
from radreward.models.report_findings import ReportFindings
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.patient_context import PatientContext

FACTS = st.builds(
    Fact,
    st.sampled_from(("effusion", "loculated", "opacity", "consolidation", "pneumonia", "nodule", "mass", "edema")),
    st.sampled_from(("present", "uncertain")),
    st.sampled_from((None, "left", "left lower", "right", "bilateral")),
    st.sampled_from((None, "mild", "severe")),
    st.sampled_from((None, "worse", "stable")),
    st.sampled_from((None, 8.0, 30.0)),
)
UNREAD = st.lists(st.sampled_from(("odd contour", "fine lines", "water")), unique=True).map(tuple)
REPORTS = st.builds(ReportFindings, st.lists(FACTS, max_size=5, unique=True).map(tuple), UNREAD)
WEIGHTS = {"pneumothorax": 1.0, "effusion": 0.5, "edema": 0.5, "scoliosis": 0.25}
SIDES = (None, "left", "right")
STATED = st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.sampled_from(SIDES))


def quality(reference: ReportFindings, candidate: ReportFindings) -> float:
    return compare_findings(reference, candidate).quality_by_head_word()


@settings(max_examples=20)
@given(REPORTS, REPORTS)
def test_quality_is_a_share_and_one_for_the_same_findings(first: ReportFindings, second: ReportFindings) -> None:
    assert 0 < quality(first, second) <= 1
    assert quality(first, first) == 1
    assert quality(first, ReportFindings(first.facts[::-1], first.unread[::-1])) == 1


@settings(max_examples=20)
@given(REPORTS)
def test_a_false_finding_lowers_the_quality(report: ReportFindings) -> None:
    candidate = ReportFindings((*report.facts, Fact("fracture")), report.unread)
    right = 0.25 + compare_findings(report, report).right + 0.25 * len(report.unread)
    assert quality(report, candidate) == pytest.approx(right / (right + 0.5))


@given(STATED, STATED)
def test_quality_equals_the_formula(reference: dict[str, str | None], candidate: dict[str, str | None]) -> None:
    """Findings with unrelated names: a wrong side is half right, one that only the reference has costs 0.05."""
    places = {"effusion", "pneumothorax"}  # the others are stated without a side
    right, wrong = 0.25, 0.0
    for name in reference.keys() | candidate.keys():
        if name in reference and name in candidate:
            sides = {reference[name], candidate[name]} if name in places else {None}
            agreement = 0.5 if sides == {"left", "right"} else 1.0
            if name in places and reference[name] and not candidate[name]:
                agreement = 0.95
            right += WEIGHTS[name] * agreement
            wrong += 2 * WEIGHTS[name] * (1 - agreement)
        else:
            wrong += WEIGHTS[name]
    facts = [
        ReportFindings(
            tuple(Fact(name, location=side if name in places else None) for name, side in stated.items()), ()
        )
        for stated in (reference, candidate)
    ]
    assert quality(facts[0], facts[1]) == pytest.approx(right / (right + wrong))


def test_a_detail_that_changes_no_care_costs_a_tenth() -> None:
    first = ReportFindings((Fact("effusion", location="left lower", change="stable"),), ())
    second = ReportFindings((Fact("effusion", "uncertain", location="left"),), ())
    comparison = compare_findings(first, second)
    assert comparison.right == pytest.approx(0.45)
    assert comparison.wrong == pytest.approx(0.1)


def test_both_sides_are_one_finding() -> None:
    left, right, both = (Fact("effusion", location=side) for side in ("left", "right", "bilateral"))
    for first in ((both,), (left, right), (both, left, right), (both, left)):
        for second in ((both,), (left, right), (both, left, right)):
            assert quality(ReportFindings(first, ()), ReportFindings(second, ())) == 1
    assert quality(ReportFindings((both,), ()), ReportFindings((left,), ())) < 1


def test_other_degrees_and_sizes_beside_the_right_one_are_wrong() -> None:
    nodule, small = Fact("nodule", size=5.0), Fact("pneumothorax", location="left", severity="mild")
    for right, false in ((nodule, nodule._replace(size=25.0)), (small, small._replace(severity="severe"))):
        report = ReportFindings((right,), ())
        assert quality(report, ReportFindings((right, false), ())) < 1
        assert quality(report, ReportFindings((right, right._replace(location=None)), ())) == 1


def test_thousands_of_findings_are_compared() -> None:
    words = ReportFindings((), tuple(f"odd lines number {number}" for number in range(2000)))
    assert quality(words, words) == 1
    facts = tuple(Fact(key, location=side) for key in FINDINGS for side in (None, "left", "right"))
    assert 0 < quality(ReportFindings(facts, ()), ReportFindings(facts, ())) <= 1


def test_patient_decides_what_a_finding_weighs() -> None:
    one, none = ReportFindings((Fact("degenerative"),), ()), ReportFindings((), ())
    assert compare_findings(one, none, PatientContext(80)).quality_by_head_word() == 1
    assert quality(one, none) == 0.5


def test_findings_that_the_rules_read_stay_different_however_similar_their_words_are() -> None:
    for key in FINDINGS:
        comparison = compare_findings(ReportFindings((Fact(key),), ()), ReportFindings((Fact("gallstones"),), ()))
        if comparison.reference:
            assert comparison.quality_by_similarity([[1.0]]) < 0.5


@given(*[st.lists(st.floats(0, 1), min_size=2, max_size=2)] * 2)
def test_words_order_equal_qualities_and_hardly_change_them(qualities: list[float], similarities: list[float]) -> None:
    values = break_ties(torch.tensor(qualities), torch.tensor(similarities))
    assert values.tolist() == pytest.approx(qualities, abs=0.005 + 1e-6)
    if similarities[0] > similarities[1] + 1e-3:
        equal = break_ties(torch.tensor([0.8, 0.8]), torch.tensor(similarities))
        assert equal[0] > equal[1]
    assert break_ties(torch.ones(2), torch.tensor([1.0, torch.nan])).tolist() == [1.0, 1.0]


def test_denied_finding_is_wrong_in_any_report() -> None:
    cavity, odd = ReportFindings((Fact("cavity"),), ()), ("Odd lesion.",)
    comparison = compare_findings(cavity, ReportFindings((), odd, frozenset({"cavity"})))
    assert (comparison.wrong, comparison.reference) == (1.0, ())
    assert compare_findings(cavity, ReportFindings((), odd)).wrong == 0
    abscess = ReportFindings((Fact("abscess"),), ())
    assert compare_findings(ReportFindings((), odd, frozenset({"cavity"})), abscess).wrong == 1.0


@settings(max_examples=20)
@given(REPORTS, REPORTS)
def test_denials_never_raise_the_quality(first: ReportFindings, second: ReportFindings) -> None:
    denials = frozenset({"nodule", "effusion"})
    assert quality(first._replace(denied=denials), second) <= quality(first, second) + 1e-12
