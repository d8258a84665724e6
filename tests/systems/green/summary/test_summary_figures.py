"""The figures, against a loop that knows nothing of the code, and known answers."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.generative.explanation import Explanation
from radreward.generative.scorer import GenerativeScorer
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

LOCATION = {"significant_incorrect_location": ["The opacity is on the left, not on the right."]}
counts = st.none() | st.integers(0, 3).map(float)


@st.composite
def reports(draw: st.DrawFn) -> list[ReportExplanation]:
    """Reports with any counts, some unread, some never asked about."""
    made = []
    for number in range(draw(st.integers(0, 8))):
        total = draw(st.none() | st.floats(-5, 5))
        said = None
        if draw(st.booleans()):
            significant, insignificant = ({"a": draw(counts), "b": draw(counts)} for _ in range(2))
            errors = {"a": tuple(draw(st.lists(st.sampled_from(["one", "two", " "]), max_size=2)))}
            said = Explanation("", "stop", None, None, significant, insignificant, errors, 1.0, ())
        made.append(ReportExplanation(f"r{number}", None, total, "ok" if total is not None else "why", said))
    return made


@given(reports(), st.sampled_from(["a", "b"]), st.booleans())
def test_figures_are_those_of_a_loop_over_all_reports(
    found: list[ReportExplanation], tag: str, significant: bool
) -> None:
    n = unread = without = 0
    every: list[float] = []
    words = []
    for report in found:
        count = None
        if report.explanation is not None:
            count = report.explanation.significant[tag] if significant else report.explanation.insignificant[tag]
        if count is None:
            unread += 1
            continue
        n += 1
        without += count == 0
        every.append(count)
        if count and report.explanation is not None and significant:
            words += [(report.report_id, word) for word in report.explanation.errors.get(tag, ()) if word.strip()]
    figures = category_statistics(found, ErrorCategory(tag, significant))
    assert (figures.num_readable, figures.num_unreadable, figures.total_errors) == (n, unread, sum(every))
    assert n + unread == len(found)
    assert figures.accuracy == (without / n if n else None)
    assert list(figures.error_sentences) == words
    assert figures.errors_per_report.mean == (pytest.approx(sum(every) / n) if n else None)
    assert figures.errors_per_report.std == (pytest.approx(statistics.stdev(every)) if n > 1 else None)


@given(reports())
def test_no_report_is_lost(found: list[ReportExplanation]) -> None:
    readings = score_statistics(found)
    assert readings.num_reports == len(found) == readings.score.n + sum(readings.unscored_reasons.values())


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9))
def test_the_deviation_is_that_of_a_sample(values: list[float]) -> None:
    found = mean_over_reports(values)
    assert found.n == len(values)
    assert found.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert found.std == pytest.approx(statistics.stdev(values), abs=1e-5)


def test_one_wrong_place_and_three_findings_that_match_are_three_quarters(green: GenerativeScorer) -> None:
    scores = green.score(["Clear."], [green_answer(LOCATION)])
    found = explanations_from_scores(scores, ["case"])
    assert score_statistics(found).score == mean_over_reports([0.75])
    assert uses_green_formula(found)
    kind = ErrorCategory("incorrect_location", True)
    figures = category_statistics(found, kind)
    assert (figures.num_readable, figures.accuracy, figures.total_errors) == (1, 0.0, 1.0)
    assert figures.error_sentences == (("case", "The opacity is on the left, not on the right"),)
    others = [category_statistics(found, other) for other in error_categories_of(found) if other != kind]
    assert [other.accuracy for other in others] == [1.0] * 11


def test_an_answer_that_cannot_be_read_counts_in_no_figure_and_is_told(green: GenerativeScorer) -> None:
    answers = [green_answer(LOCATION), green_answer({}), "No idea.", ""]
    found = explanations_from_scores(green.score(["Clear."] * 4, answers), list("abcd"))
    readings = score_statistics(found)
    assert readings.score == mean_over_reports([0.75, 1.0])
    assert readings.unscored_reasons == {
        "unparsable answer: section missing: clinically significant errors": 1,
        "empty candidate": 1,
    }
    for kind in error_categories_of(found):
        figures = category_statistics(found, kind)
        assert (figures.num_readable, figures.num_unreadable) == (2, 2)
    assert category_statistics(found, ErrorCategory("incorrect_location", True)).accuracy == 0.5


def test_a_count_is_used_where_it_was_read_though_there_is_no_score(green: GenerativeScorer) -> None:
    answer = green_answer(LOCATION).rpartition("[Matched Findings]")[0]
    found = explanations_from_scores(green.score(["Clear."], [answer]), ["a"])
    assert score_statistics(found).score.n == 0
    assert category_statistics(found, ErrorCategory("incorrect_location", True)).total_errors == 1


def test_significant_and_insignificant_errors_are_apart(green: GenerativeScorer) -> None:
    words = {"significant_omission": ["The nodule."], "insignificant_omission": ["A scar.", "A clip."]}
    found = explanations_from_scores(green.score(["Clear."], [green_answer(words)]), ["a"])
    assert [kind.tag for kind in error_categories_of(found)] == list(RadCliQCriteria().tags) * 2
    assert len(error_categories_of(found)) == len(RadCliQSignificanceCriteria())
    assert category_statistics(found, ErrorCategory("omission", True)).error_sentences == (("a", "The nodule"),)
    assert category_statistics(found, ErrorCategory("omission", False)).error_sentences == (
        ("a", "A scar"),
        ("a", "A clip"),
    )


def test_a_model_that_does_not_weigh_errors_has_one_kind(radreason: GenerativeScorer) -> None:
    words = {"omission": ["The nodule", "A clip"], "incorrect_severity": ["Edema is mild: not severe"]}
    found = explanations_from_scores(radreason.score(["Clear."], [radreason_answer(words)]), ["a"])
    assert [kind.tag for kind in error_categories_of(found)] == list(RadCliQCriteria().tags)
    assert category_statistics(found, ErrorCategory("omission", True)).error_sentences == (
        ("a", "The nodule"),
        ("a", "A clip"),
    )
    assert category_statistics(found, ErrorCategory("incorrect_severity", True)).error_sentences == (
        ("a", "Edema is mild: not severe"),
    )
    assert score_statistics(found).score == mean_over_reports([-3.0])
    assert not uses_green_formula(found)


def test_words_stand_in_one_line() -> None:
    said = Explanation("", "length", None, None, {"a": 1.0}, {}, {"a": ("Two\n lines",)}, None, ())
    found = [ReportExplanation("r", None, 1.0, "truncated", said)]
    assert category_statistics(found, ErrorCategory("a", True)).error_sentences == (("r", "Two lines"),)
    readings = score_statistics(found)
    assert (readings.num_truncated, readings.num_cut_off) == (1, 1)
    assert not math.isnan(readings.score.mean or 0)
