"""The figures, against a loop that knows nothing of the code, and known answers."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.criteria import RadCliQ, RadCliQSignificance
from radreward.generative.scorer import ExplainingScorer
from radreward.systems.green.summary.category_statistics import (
    ErrorKind,
    figures_of,
    is_green,
    kinds_of,
    mean_of,
    readings_of,
)
from radreward.systems.green.summary.explanations import Reasons, reasons_of
from radreward.types import Explanation
from tests.systems.green.summary.conftest import green_answer, radreason_answer

LOCATION = {"significant_incorrect_location": ["The opacity is on the left, not on the right."]}
counts = st.none() | st.integers(0, 3).map(float)


@st.composite
def reports(draw: st.DrawFn) -> list[Reasons]:
    """Reports with any counts, some unread, some never asked about."""
    made = []
    for number in range(draw(st.integers(0, 8))):
        total = draw(st.none() | st.floats(-5, 5))
        said = None
        if draw(st.booleans()):
            significant, insignificant = ({"a": draw(counts), "b": draw(counts)} for _ in range(2))
            errors = {"a": tuple(draw(st.lists(st.sampled_from(["one", "two", " "]), max_size=2)))}
            said = Explanation("", "stop", None, None, significant, insignificant, errors, 1.0, ())
        made.append(Reasons(f"r{number}", None, total, "ok" if total is not None else "why", said))
    return made


@given(reports(), st.sampled_from(["a", "b"]), st.booleans())
def test_figures_are_those_of_a_loop_over_all_reports(found: list[Reasons], tag: str, significant: bool) -> None:
    n = unread = without = 0
    every: list[float] = []
    words = []
    for report in found:
        count = None
        if report.said is not None:
            count = report.said.significant[tag] if significant else report.said.insignificant[tag]
        if count is None:
            unread += 1
            continue
        n += 1
        without += count == 0
        every.append(count)
        if count and report.said is not None and significant:
            words += [(report.id, word) for word in report.said.errors.get(tag, ()) if word.strip()]
    figures = figures_of(found, ErrorKind(tag, significant))
    assert (figures.n, figures.unread, figures.total) == (n, unread, sum(every))
    assert n + unread == len(found)
    assert figures.accuracy == (without / n if n else None)
    assert list(figures.said) == words
    assert figures.errors.mean == (pytest.approx(sum(every) / n) if n else None)
    assert figures.errors.sd == (pytest.approx(statistics.stdev(every)) if n > 1 else None)


@given(reports())
def test_no_report_is_lost(found: list[Reasons]) -> None:
    readings = readings_of(found)
    assert readings.reports == len(found) == readings.score.n + sum(readings.unscored.values())


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9))
def test_the_deviation_is_that_of_a_sample(values: list[float]) -> None:
    found = mean_of(values)
    assert found.n == len(values)
    assert found.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert found.sd == pytest.approx(statistics.stdev(values), abs=1e-5)


def test_one_wrong_place_and_three_findings_that_match_are_three_quarters(green: ExplainingScorer) -> None:
    scores = green.score(["Clear."], [green_answer(LOCATION)])
    found = reasons_of(scores, ["case"])
    assert readings_of(found).score == mean_of([0.75])
    assert is_green(found)
    kind = ErrorKind("incorrect_location", True)
    figures = figures_of(found, kind)
    assert (figures.n, figures.accuracy, figures.total) == (1, 0.0, 1.0)
    assert figures.said == (("case", "The opacity is on the left, not on the right"),)
    others = [figures_of(found, other) for other in kinds_of(found) if other != kind]
    assert [other.accuracy for other in others] == [1.0] * 11


def test_an_answer_that_cannot_be_read_counts_in_no_figure_and_is_told(green: ExplainingScorer) -> None:
    answers = [green_answer(LOCATION), green_answer({}), "No idea.", ""]
    found = reasons_of(green.score(["Clear."] * 4, answers), list("abcd"))
    readings = readings_of(found)
    assert readings.score == mean_of([0.75, 1.0])
    assert readings.unscored == {
        "unreadable answer: section missing: clinically significant errors": 1,
        "empty candidate": 1,
    }
    for kind in kinds_of(found):
        figures = figures_of(found, kind)
        assert (figures.n, figures.unread) == (2, 2)
    assert figures_of(found, ErrorKind("incorrect_location", True)).accuracy == 0.5


def test_a_count_is_used_where_it_was_read_though_there_is_no_score(green: ExplainingScorer) -> None:
    answer = green_answer(LOCATION).rpartition("[Matched Findings]")[0]
    found = reasons_of(green.score(["Clear."], [answer]), ["a"])
    assert readings_of(found).score.n == 0
    assert figures_of(found, ErrorKind("incorrect_location", True)).total == 1


def test_significant_and_insignificant_errors_are_apart(green: ExplainingScorer) -> None:
    words = {"significant_omission": ["The nodule."], "insignificant_omission": ["A scar.", "A clip."]}
    found = reasons_of(green.score(["Clear."], [green_answer(words)]), ["a"])
    assert [kind.tag for kind in kinds_of(found)] == list(RadCliQ().tags) * 2
    assert len(kinds_of(found)) == len(RadCliQSignificance())
    assert figures_of(found, ErrorKind("omission", True)).said == (("a", "The nodule"),)
    assert figures_of(found, ErrorKind("omission", False)).said == (("a", "A scar"), ("a", "A clip"))


def test_a_model_that_does_not_weigh_errors_has_one_kind(radreason: ExplainingScorer) -> None:
    words = {"omission": ["The nodule", "A clip"], "incorrect_severity": ["Edema is mild: not severe"]}
    found = reasons_of(radreason.score(["Clear."], [radreason_answer(words)]), ["a"])
    assert [kind.tag for kind in kinds_of(found)] == list(RadCliQ().tags)
    assert figures_of(found, ErrorKind("omission", True)).said == (("a", "The nodule"), ("a", "A clip"))
    assert figures_of(found, ErrorKind("incorrect_severity", True)).said == (("a", "Edema is mild: not severe"),)
    assert readings_of(found).score == mean_of([-3.0])
    assert not is_green(found)


def test_words_stand_in_one_line() -> None:
    said = Explanation("", "length", None, None, {"a": 1.0}, {}, {"a": ("Two\n lines",)}, None, ())
    found = [Reasons("r", None, 1.0, "truncated", said)]
    assert figures_of(found, ErrorKind("a", True)).said == (("r", "Two lines"),)
    readings = readings_of(found)
    assert (readings.truncated, readings.cut_off) == (1, 1)
    assert not math.isnan(readings.score.mean or 0)
