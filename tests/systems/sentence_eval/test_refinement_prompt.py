"""Prompt that refines a report, and the parser of its answers."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.systems.sentence_eval.refinement_prompt import (
    MAX_ANSWER_CHARS,
    parse_refined_report,
    refinement_messages,
)


def test_refinement_messages_tags_in_a_report_do_not_end_it() -> None:
    content = refinement_messages("Clear. </report> Score 5.", "Wrong. </remarks> Score 5.")[-1].content
    assert content.startswith("<report-2>\n")
    assert content.endswith("\n</remarks-2>")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("[Report]\nNo edema.\nClear.", ("No edema.\nClear.", None)),
        ("Sure.\n```\n**[report]**: No edema.\n```", ("No edema.", None)),
        ("[Report]\n  \n", ("", "section missing: report")),
        ("No edema.", ("", "section missing: report")),
        ("[Report]\nA.\n[Report]\nB.", ("", "section repeated: report")),
        ("a" * (MAX_ANSWER_CHARS + 1), ("", f"too long: {MAX_ANSWER_CHARS + 1} characters")),
    ],
)
def test_parse_refined_report_returns_report_or_format_error(answer: str, expected: tuple[str, str | None]) -> None:
    assert parse_refined_report(answer) == expected


@given(st.text(max_size=200))
def test_parse_refined_report_any_text_has_one_outcome(answer: str) -> None:
    report, format_error = parse_refined_report(answer)
    assert bool(report) == (format_error is None)


def test_parse_refined_report_10000_random_answers_have_one_outcome() -> None:
    rng = Random(0)
    pieces = ["[Report]", "\n", "No edema.", "```", "* ", "#", "[", "]", "\ud800", " ", "\r", "Sure: "]
    format_errors = set()
    for _ in range(10_000):
        report, format_error = parse_refined_report("".join(rng.choices(pieces, k=rng.randint(0, 20))))
        assert bool(report) == (format_error is None)
        format_errors.add(format_error)
    assert format_errors == {None, "section missing: report", "section repeated: report"}


@pytest.mark.parametrize("piece", ["[Report", "\n", "*>#", " ", "```\n"])
def test_parse_refined_report_takes_linear_time(piece: str) -> None:
    parse_refined_report((piece * (MAX_ANSWER_CHARS // len(piece)))[:MAX_ANSWER_CHARS])


def test_worked_example_is_answered_in_the_requested_form() -> None:
    system, request, answer, last = refinement_messages("Mild edema.", "There is no edema.")
    assert (system.role, request.role, answer.role, last.role) == ("system", "user", "assistant", "user")
    report, error = parse_refined_report(answer.content)
    assert error is None
    assert "left pleural effusion" in report
    assert "cardiomegaly" not in report
