"""Statistics of categories and scores, against a loop and fixed answers."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.scorers.explanation import Explanation
from radreward.scorers.generative import GenerativeScorer
from radreward.systems.green.summary.category_statistics import (
    ErrorCategory,
    category_statistics,
    error_categories_of,
    mean_over_reports,
    score_statistics,
    uses_green_formula,
)
from radreward.systems.green.summary.explanations import ReportExplanation, explanations_from_scores
from tests.systems.green.summary.conftest import green_answer, radreason_answer

WRONG_LOCATION = {"significant_incorrect_location": ["The opacity is on the left, not on the right."]}
counts = st.none() | st.integers(0, 3).map(float)


def make_explanation(
    significant: dict[str, float | None],
    insignificant: dict[str, float | None] | None = None,
    errors: dict[str, tuple[str, ...]] | None = None,
    finish_reason: str = "stop",
) -> Explanation:
    return Explanation("", finish_reason, None, None, significant, insignificant or {}, errors or {}, 1.0, ())


@st.composite
def report_lists(draw: st.DrawFn) -> list[ReportExplanation]:
    """Draw reports with any counts, some of them unreadable, some without an answer."""
    reports = []
    for number in range(draw(st.integers(0, 8))):
        total = draw(st.none() | st.floats(-5, 5))
        explanation = None
        if draw(st.booleans()):
            significant, insignificant = ({"a": draw(counts), "b": draw(counts)} for _ in range(2))
            errors = {"a": tuple(draw(st.lists(st.sampled_from(["one", "two", " "]), max_size=2)))}
            explanation = make_explanation(significant, insignificant, errors)
        status = "ok" if total is not None else "reason"
        reports.append(ReportExplanation(f"r{number}", None, total, status, explanation))
    return reports


@given(report_lists(), st.sampled_from(["a", "b"]), st.booleans())
def test_category_statistics_equal_a_loop(reports: list[ReportExplanation], tag: str, significant: bool) -> None:
    num_readable = num_unreadable = num_correct = 0
    expected: list[float] = []
    descriptions = []
    for report in reports:
        count = None
        if report.explanation is not None:
            count = (report.explanation.significant if significant else report.explanation.insignificant)[tag]
        if count is None:
            num_unreadable += 1
            continue
        num_readable += 1
        num_correct += count == 0
        expected.append(count)
        if count and report.explanation is not None and significant:
            texts = report.explanation.errors.get(tag, ())
            descriptions += [(report.report_id, text) for text in texts if text.strip()]
    category = category_statistics(reports, ErrorCategory(tag, significant))
    assert (category.num_readable, category.num_unreadable) == (num_readable, num_unreadable)
    assert category.total_errors == sum(expected)
    assert num_readable + num_unreadable == len(reports)
    assert category.accuracy == (num_correct / num_readable if num_readable else None)
    assert list(category.descriptions) == descriptions
    assert category.errors_per_report.mean == (pytest.approx(sum(expected) / num_readable) if num_readable else None)
    std = pytest.approx(statistics.stdev(expected)) if num_readable > 1 else None
    assert category.errors_per_report.std == std


@given(report_lists())
def test_score_statistics_count_every_report(reports: list[ReportExplanation]) -> None:
    result = score_statistics(reports)
    assert result.num_reports == len(reports) == result.score.n + sum(result.unscored_reasons.values())


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9))
def test_mean_over_reports_has_the_sample_deviation(values: list[float]) -> None:
    result = mean_over_reports(values)
    mean = sum(values) / len(values)
    std = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
    assert result.n == len(values)
    assert result.mean == pytest.approx(mean, abs=1e-6)
    assert result.std == pytest.approx(std, abs=1e-5)


def test_category_statistics_one_error_and_three_matches(green: GenerativeScorer) -> None:
    reports = explanations_from_scores(green.score(["Clear."], [green_answer(WRONG_LOCATION)]), ["case"])
    assert score_statistics(reports).score == mean_over_reports([0.75])
    assert uses_green_formula(reports)
    wrong_location = ErrorCategory("incorrect_location", True)
    category = category_statistics(reports, wrong_location)
    assert (category.num_readable, category.accuracy, category.total_errors) == (1, 0.0, 1.0)
    assert category.descriptions == (("case", "The opacity is on the left, not on the right"),)
    others = [category_statistics(reports, entry) for entry in error_categories_of(reports) if entry != wrong_location]
    assert [other.accuracy for other in others] == [1.0] * 11


def test_statistics_exclude_unreadable_answers(green: GenerativeScorer) -> None:
    answers = [green_answer(WRONG_LOCATION), green_answer({}), "No idea.", ""]
    reports = explanations_from_scores(green.score(["Clear."] * 4, answers), list("abcd"))
    result = score_statistics(reports)
    assert result.score == mean_over_reports([0.75, 1.0])
    assert result.unscored_reasons == {
        "unparsable answer: section missing: clinically significant errors": 1,
        "empty candidate": 1,
    }
    for entry in error_categories_of(reports):
        category = category_statistics(reports, entry)
        assert (category.num_readable, category.num_unreadable) == (2, 2)
    assert category_statistics(reports, ErrorCategory("incorrect_location", True)).accuracy == 0.5


def test_category_statistics_include_readable_counts_without_a_score(green: GenerativeScorer) -> None:
    answer = green_answer(WRONG_LOCATION).rpartition("[Matched Findings]")[0]
    reports = explanations_from_scores(green.score(["Clear."], [answer]), ["a"])
    assert score_statistics(reports).score.n == 0
    assert category_statistics(reports, ErrorCategory("incorrect_location", True)).total_errors == 1


def test_category_statistics_separate_significant_errors(green: GenerativeScorer) -> None:
    descriptions = {"significant_omission": ["The nodule."], "insignificant_omission": ["A scar.", "A clip."]}
    reports = explanations_from_scores(green.score(["Clear."], [green_answer(descriptions)]), ["a"])
    assert [category.tag for category in error_categories_of(reports)] == list(RadCliQCriteria().tags) * 2
    assert len(error_categories_of(reports)) == len(RadCliQSignificanceCriteria())
    assert category_statistics(reports, ErrorCategory("omission", True)).descriptions == (("a", "The nodule"),)
    insignificant = category_statistics(reports, ErrorCategory("omission", False))
    assert insignificant.descriptions == (("a", "A scar"), ("a", "A clip"))


def test_category_statistics_of_a_model_without_significance(radreason: GenerativeScorer) -> None:
    descriptions = {"omission": ["The nodule", "A clip"], "incorrect_severity": ["Edema is mild: not severe"]}
    reports = explanations_from_scores(radreason.score(["Clear."], [radreason_answer(descriptions)]), ["a"])
    assert [category.tag for category in error_categories_of(reports)] == list(RadCliQCriteria().tags)
    omission = category_statistics(reports, ErrorCategory("omission", True))
    assert omission.descriptions == (("a", "The nodule"), ("a", "A clip"))
    severity = category_statistics(reports, ErrorCategory("incorrect_severity", True))
    assert severity.descriptions == (("a", "Edema is mild: not severe"),)
    assert score_statistics(reports).score == mean_over_reports([-3.0])
    assert not uses_green_formula(reports)


def test_category_statistics_descriptions_are_single_lines() -> None:
    explanation = make_explanation({"a": 1.0}, errors={"a": ("Two\n lines",)}, finish_reason="length")
    reports = [ReportExplanation("r", None, 1.0, "truncated", explanation)]
    assert category_statistics(reports, ErrorCategory("a", True)).descriptions == (("r", "Two lines"),)
    result = score_statistics(reports)
    assert (result.num_truncated, result.num_cut_off) == (1, 1)
    assert result.score.mean == 1.0
