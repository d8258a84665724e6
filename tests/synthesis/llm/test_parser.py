"""Tests of the parser of LLM answers: valid answers, each type of error, and arbitrary text."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.criteria import Criteria, Criterion, MRScoreCriteria, RadCliQCriteria
from radreward.prompts.parsing import MAX_CHARACTERS
from radreward.synthesis.llm.parser import GeneratedReport, parse_generated

TWO = Criteria("two", [Criterion("omission", "Missing."), Criterion("bad grammar", "Bad.", "binary", 5)])
SECTIONS = ("candidate", "errors")
GOOD = """[Candidate]
Clear lungs.
[Errors]
omission | "No edema." | none | left out
bad grammar | "Clear lungs." | "Lungs is clear." | verb
[Counts]
omission: 1
bad grammar: 1
"""


def problem(answer: str, sections: tuple[str, ...] = SECTIONS) -> str | None:
    return parse_generated(answer, sections, TWO).error


def test_parse_generated_well_formed_answer() -> None:
    report = parse_generated(GOOD, SECTIONS, TWO)
    assert report.error is None
    assert report.candidate == "Clear lungs."
    assert report.counts == {"omission": 1, "bad_grammar": 1}
    assert report.errors[0] == ("omission", "No edema.", None, "left out")
    assert report.errors[1] == ("bad_grammar", "Clear lungs.", "Lungs is clear.", "verb")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: f"Here you are:\n\n{text}",
        lambda text: f"```text\n{text}```",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("[Counts]", "**[Counts]**:").replace("[Errors]", "## [ERRORS]"),
        lambda text: text.replace("omission: 1", "- Omission: 1").replace("bad grammar: 1", "2. bad_grammar : 1.0"),
        lambda text: text.replace('omission | "', "- omission | \u201c").replace('." | none', ".\u201d | None"),
        lambda text: text.replace("Clear lungs.\n", "Clear\n   lungs.\n\n", 1),
        lambda text: text.replace("bad grammar |", "bad grammar | ", 1).replace("| verb", "| verb | and more"),
    ],
)
def test_parse_generated_accepts_format_variants(change: object) -> None:
    assert callable(change)
    report = parse_generated(change(GOOD), SECTIONS, TWO)
    assert report.error is None
    assert report.candidate == "Clear lungs."
    assert report.counts == {"omission": 1, "bad_grammar": 1}
    assert [error[:3] for error in report.errors] == [
        ("omission", "No edema.", None),
        ("bad_grammar", "Clear lungs.", "Lungs is clear."),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[Candidate]\nClear lungs.\n", "", "no section: candidate"),
        ("Clear lungs.\n[Errors]", "[Errors]", "no section: candidate"),
        ("[Errors]", "[Counts]\n[Errors]", "section twice: counts"),
        ("[Counts]\nomission: 1\nbad grammar: 1\n", "", "no section: counts"),
        ("omission: 1\n", "", "missing count: omission"),
        ("omission: 1\n", "omission: 1\nomission: 1\n", "count twice: omission"),
        ("omission: 1\n", "omission: one\n", "no count: omission: one"),
        ("omission: 1\n", "omission: -1\n", "no count: omission: -1"),
        ("omission: 1\n", "omission: 1e999\n", "no count: omission: 1e999"),
        ("omission: 1\n", "omission: NaN\n", "no count: omission: NaN"),
        ("omission: 1\n", "omission: 1.5\n", "no count: omission: 1.5"),
        ("omission: 1\n", "harm: 1\n", "unknown criterion: harm: 1"),
        ("omission: 1\n", "omission: 1\nThat is all.\n", "unknown criterion: That is all."),
        ("bad grammar: 1", "bad grammar: 2", "count outside the set: bad_grammar: 2, not 0 or 1"),
        ("omission: 1", "omission: 2", "counts and errors differ: omission: 2 counted, 1 stated"),
        ("bad grammar: 1", "bad grammar: 0", "counts and errors differ: bad_grammar: 0 counted, 1 stated"),
        ('omission | "No edema."', "harm | none", "unknown criterion: harm | none | none | left out"),
        ('omission | "No edema." | none | left out', "No edema was left out.", "broken error: No edema was left out."),
    ],
)
def test_parse_generated_rejects_with_reason(old: str, new: str, expected: str) -> None:
    assert old in GOOD
    assert problem(GOOD.replace(old, new, 1)) == expected


def test_parse_generated_binary_criterion_with_several_errors() -> None:
    extended = GOOD.replace("[Counts]", 'bad grammar | none | "is are" | verb\n[Counts]')
    assert problem(extended) is None


def test_parse_generated_without_errors() -> None:
    for no_errors in ("", "none\n", "No errors.\n", "-\n"):
        assert problem(f"[Candidate]\nClear.\n[Errors]\n{no_errors}[Counts]\nomission: 0\nbad grammar: 0") is None


def test_parse_generated_matched_findings() -> None:
    answer = '[Explanation]\nAll well.\n[Errors]\n[Matched]\n- "No edema."\n2. Clear lungs\nnone\n[Counts]\n'
    answer += "omission: 0\nbad grammar: 0"
    report = parse_generated(answer, ("explanation", "errors", "matched"), TWO)
    assert (report.explanation, report.matched, report.error) == ("All well.", ("No edema.", "Clear lungs"), None)


def test_parse_generated_too_long_answer_is_rejected() -> None:
    assert problem("a" * (MAX_CHARACTERS + 1)) == f"too long: {MAX_CHARACTERS + 1} characters"


@pytest.mark.parametrize(
    "piece",
    ["[", "[Errors]", "* > # ", "|", '"', "\n", " ", "omission: 1\n", "omission | ", "```", "- ", "1) ", "\u2028"],
)
def test_parse_generated_time_is_linear(piece: str) -> None:
    repeated = (piece * (MAX_CHARACTERS // len(piece)))[:MAX_CHARACTERS]
    for answer in (
        repeated,
        f"[Candidate]\nA.\n[Errors]\n{repeated}"[:MAX_CHARACTERS],
        f"[Counts]\n{repeated}"[:MAX_CHARACTERS],
    ):
        assert isinstance(parse_generated(answer, SECTIONS, TWO), GeneratedReport)


def test_parse_generated_never_raises() -> None:
    rng = Random(0)
    pieces = [*GOOD.splitlines(keepends=True), *GOOD, "[Matched]", "\x00", "\ud800", "é", "１", "٣", "999", "|||", "\r"]
    observed = set()
    for _ in range(10_000):
        answer = "".join(rng.choices(pieces, k=rng.randint(0, 30)))
        if rng.random() < 0.5:  # a small change of a valid answer
            place = rng.randrange(len(GOOD))
            answer = GOOD[:place] + rng.choice(pieces) * rng.randint(0, 2) + GOOD[place + rng.randint(0, 3) :]
        report = parse_generated(answer, SECTIONS, TWO)
        _check_consistency(report, TWO)
        observed.add((report.error or "right").split(":")[0])
    assert {
        "right",
        "no section",
        "no count",
        "missing count",
        "unknown criterion",
        "counts and errors differ",
    } <= observed


def _check_consistency(report: GeneratedReport, criteria: Criteria) -> None:
    """Check that a report without an error status has a candidate, all counts, and as many errors as counted."""
    if report.error is not None:
        return
    assert report.candidate.strip()
    assert list(report.counts) == [tag for tag in report.counts if tag in criteria.tags]
    assert set(report.counts) == set(criteria.tags)
    for criterion in criteria.criteria:
        stated = sum(error.tag == criterion.tag for error in report.errors)
        assert min(stated, 1) == report.counts[criterion.tag] if criterion.kind == "binary" else True
        assert criterion.kind == "binary" or stated == report.counts[criterion.tag]


@given(st.text(max_size=400), st.sampled_from([RadCliQCriteria(), MRScoreCriteria(), TWO]))
@settings(max_examples=300)
def test_parse_generated_accepts_any_text(answer: str, criteria: Criteria) -> None:
    _check_consistency(parse_generated(answer, SECTIONS, criteria), criteria)


@given(
    st.dictionaries(st.sampled_from(RadCliQCriteria().tags), st.integers(0, 5)),
    st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters='|"[]`~'), min_size=1, max_size=30),
)
@settings(max_examples=200)
def test_parse_generated_reads_sections(counts: dict[str, int], words: str) -> None:
    full = dict.fromkeys(RadCliQCriteria().tags, 0) | counts
    errors = [f'{tag} | "w{words}" | none | {words}' for tag, count in full.items() for _ in range(count)]
    answer = "\n".join(["[Candidate]", f"r {words}", "[Errors]", *errors, "[Counts]"])
    report = parse_generated(
        answer + "".join(f"\n{tag}: {count}" for tag, count in full.items()), SECTIONS, RadCliQCriteria()
    )
    assert report.error is None
    assert report.counts == full
    assert [(error.tag, error.reference, error.candidate) for error in report.errors] == [
        (tag, f"w{words}", None) for tag, count in full.items() for _ in range(count)
    ]
