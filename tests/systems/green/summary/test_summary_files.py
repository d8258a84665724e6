"""Files of a summary: HTML, Markdown and JSON, with untrusted text; invalid input files."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selenium.webdriver import Chrome

from benchmarks.page_render import chromium
from radreward.cli import main
from radreward.errors import InputError
from radreward.io.terminal import printable
from radreward.scorers.explanation import Explanation
from radreward.scorers.generative import GenerativeScorer
from radreward.systems.green.summary import (
    ErrorSummary,
    ReportExplanation,
    explanations_from_scores,
    read_explanations,
    summarize_explanations,
    summarize_files,
    write_summary,
)
from radreward.systems.green.summary.html import summary_html
from radreward.systems.green.summary.markdown import escape_markdown_line, summary_markdown
from radreward.systems.green.summary.scatter_plot import scatter_svg
from radreward.systems.green.summary.summary import ErrorPoint
from radreward.types import Scores
from tests.systems.green.summary.conftest import green_answer

WriteScores = Callable[..., Path]
ATTACK = "</style></title><script>document.title = 'hurt'</script><img src=x onerror=alert(1)> [a](javascript:b) | `c`"
DESCRIPTIONS = ["The nodule is left out", "A nodule is not said", "No word of the effusion", "Edema is lost"]
DESCRIPTIONS += ["No rib fracture"]
ANSWERS = [green_answer({"significant_omission": [text]}) for text in (*DESCRIPTIONS, ATTACK)]


@pytest.fixture(scope="module")
def summary(green: GenerativeScorer) -> ErrorSummary:
    """Two systems, one with markup as its name, and an unreadable answer."""
    answers = [*ANSWERS, green_answer({}), "No idea."]
    systems = [ATTACK if index % 2 else "plain" for index in range(len(answers))]
    scores = green.score(["Clear."] * len(answers), answers)
    ids = [f"case {index} {ATTACK}" for index in range(len(answers))]
    return summarize_explanations(explanations_from_scores(scores, ids, systems))


class PageContent(HTMLParser):
    """Texts, tags and attribute names of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_write_summary_three_files_have_the_same_content(summary: ErrorSummary, tmp_path: Path) -> None:
    paths = write_summary(summary, tmp_path / "out")
    assert [path.name for path in paths] == ["summary.html", "summary.md", "summary.json"]
    data = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert data["score_name"] == "GREEN"
    assert [system["system"] for system in data["systems"]] == ["plain", ATTACK]
    omission = data["systems"][0]["categories"][1]
    assert (omission["tag"], omission["num_readable"], omission["accuracy"]) == ("omission", 4, 0.25)
    assert data["systems"][0]["statistics"]["score"]["mean"] == 0.8125
    assert data["systems"][1]["statistics"]["unscored_reasons"] == {
        "unparsable answer: section missing: clinically significant errors": 1
    }
    assert len(data["plot"]["points"]) == data["plot"]["plotted"] == 6
    markdown = paths[1].read_text(encoding="utf-8")
    page = PageContent(paths[0].read_text(encoding="utf-8")).text
    for text in ("0.812 ± 0.125", "0.250"):  # 3 / 4 three times, 1 once
        assert text in markdown
        assert text in page
    for category in data["systems"][0]["categories"]:
        for cluster in category["clusters"]:
            assert cluster["quotes"][0]["sentence"] in page


def test_summary_pages_are_reproducible(summary: ErrorSummary) -> None:
    assert summary_html(summary) == summary_html(summary)
    assert summary_markdown(summary) == summary_markdown(summary)


def test_summary_html_model_text_is_never_markup(summary: ErrorSummary) -> None:
    page = summary_html(summary)
    content = PageContent(page)
    assert ATTACK in content.text
    assert not {"script", "img", "a", "iframe"} & content.tags
    assert not {name for name in content.attributes if name.startswith("on") or name in ("style", "src", "href")}
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


@given(st.text() | st.just(ATTACK))
@settings(max_examples=10, deadline=None)
def test_scatter_svg_text_is_never_markup(text: str) -> None:
    point = ErrorPoint(x=0.5, y=0.5, tag="omission", system=None, sentence=text, frequency=2, report_id=text)
    content = PageContent(str(scatter_svg([point], ["omission"], text)))
    assert content.tags <= {"svg", "g", "defs", "path", "use", "title", "clippath", "rect"}
    assert not {name for name in content.attributes if name.startswith("on") or name in ("style", "src", "href")}
    if text.isprintable():
        assert f"omission: {text}, 2 times, first in report {text}" in content.text


@given(st.text(st.sampled_from("ab <>&#;[]()!*_`~|\\$^=-+1.:/@\nwp\"'")) | st.text())
@settings(max_examples=300)
def test_escape_markdown_line_any_text_is_shown_unchanged(text: str) -> None:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(f"x {escape_markdown_line(text)}")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {child.type for child in children} <= {"text", "text_special"}
    assert "".join(child.content for child in children) == f"x {' '.join(printable(text).split())}".rstrip()


@pytest.mark.parametrize(
    "text", ["1. One", "- two", "+ three", "# four", "> five", "---", "===", "0.5 mm", "www.x.org"]
)
def test_escape_markdown_line_start_is_no_markup(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(escape_markdown_line(text))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert "".join(child.content for child in tokens[1].children or []) == text


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """Headless Chromium."""
    try:
        with chromium() as started:
            yield started
    except FileNotFoundError as error:
        pytest.fail(str(error), pytrace=False)


def test_browser_shows_the_page_and_runs_nothing(summary: ErrorSummary, tmp_path: Path, browser: Chrome) -> None:
    page = write_summary(summary, tmp_path)[0]
    browser.get(page.as_uri())
    assert browser.title.startswith("Errors of plain and </style>")
    points = browser.execute_script("return document.querySelectorAll('#plot svg[role=img] .point').length")
    assert points == 6
    quotes = browser.execute_script("return [...document.querySelectorAll('blockquote')].map((q) => q.innerText)")
    assert set(quotes) <= {*DESCRIPTIONS, ATTACK}
    width = browser.execute_script("return getComputedStyle(document.querySelector('blockquote')).borderLeftWidth")
    assert width == "3px"  # the policy allows the style
    fill = browser.execute_script("return getComputedStyle(document.querySelector('.point use')).fill")
    assert fill == "rgb(213, 94, 0)"
    overflow = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", ["scores.jsonl", "scores.csv", "scores.parquet"])
def test_read_explanations_equal_those_from_scores(name: str, scored: WriteScores, green: GenerativeScorer) -> None:
    answers = [*ANSWERS[:3], "", "No idea."]
    systems = ["a", "b", "a", "b", "a"]
    explanations = read_explanations(scored(answers, name, systems))
    ids = [f"r{index}" for index in range(len(answers))]
    assert explanations == explanations_from_scores(green.score(["Clear."] * 5, answers), ids, systems)


def test_summarize_files_names_systems_after_files(scored: WriteScores) -> None:
    files = [scored(ANSWERS[:1], "first.jsonl"), scored(ANSWERS[1:3], "second.csv", ["x", ""])]
    summary = summarize_files(files)
    assert [system.system for system in summary.systems] == ["first", "x", "second"]
    assert list(summary.files) == [str(file) for file in files]
    with pytest.raises(InputError, match="two are called first"):
        summarize_files([files[0], files[0]])


def test_summarize_command_prints_tables_and_paths(
    scored: WriteScores, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = scored([*ANSWERS, "No idea."])
    assert main(["summarize", f"--input={file}", f"--output={tmp_path / 'out'}"]) == 0
    output = capsys.readouterr().out
    assert "0.750 ± 0.000" in output
    assert "0.000 (n 6)" in output
    for name in ("summary.html", "summary.md", "summary.json"):
        assert str(tmp_path / "out" / name) in output.replace("\n", "")


def row(**changes: Any) -> dict[str, Any]:
    evidence = Explanation("", "stop", None, None, {"a": 1.0}, {"a": 0.0}, {"a": ("One",)}, 3.0, ("x",))._asdict()
    evidence |= changes.pop("evidence", {})
    return {"id": "r", "total": 0.75, "status": "ok", "evidence": json.dumps(evidence), **changes}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "Expected at least one row"),
        (
            [{"id": "r", "total": 1.0, "status": "ok"}],
            "scores.jsonl: Expected a column 'evidence' but there is none. Score pairs that have ids with a scorer",
        ),
        ([{"id": "r"}] * 3, "scores.jsonl: Expected a column 'total' but there is none."),
        ([row(), row(total="many")], "row 2: field 'total': Expected a number from -1e+09 to 1e+09 but got 'many'"),
        ([row(total=None)], "row 1: field 'total': Expected a finite number, since the status is 'ok'"),
        ([row(total=1e999)], "row 1: field 'total': Expected a number from -1e+09 to 1e+09 but got inf"),
        (
            [row(evidence={"num_matched": -1})],
            "field 'evidence.num_matched': Expected a number from 0 to 1,000 but got -1",
        ),
        ([row(evidence={"num_matched": True})], "field 'evidence.num_matched'"),
        ([row(evidence={"significant": {"a": 1e999}})], "field 'evidence.significant.a'"),
        ([row(evidence={"significant": [1]})], "field 'evidence.significant': Expected counts by category"),
        ([row(evidence={"errors": {"z": ["One"]}})], "field 'evidence.errors'"),
        ([row(evidence={"errors": {"a": "One"}})], "field 'evidence.errors.a': Expected a list of texts"),
        ([row(evidence={"errors": {"a": ["\ud800"]}})], "field 'evidence.errors.a': Expected a text in UTF-8"),
        ([row(evidence={"matched_findings": None})], "field 'evidence.matched_findings'"),
        ([row(evidence={"explanation": 1})], "field 'evidence.explanation'"),
        ([row(evidence={"more": 1})], "field 'evidence': 'more' is missing or unknown"),
        ([{**row(), "evidence": "{"}], "field 'evidence': Expected JSON"),
        ([{**row(), "evidence": "[" * 100_000}], "field 'evidence': Expected JSON"),
        ([{**row(), "evidence": "[1]"}], "field 'evidence': Expected an object but got list"),
        ([{**row(), "evidence": None}], "field 'evidence': Expected an explanation, since"),
        ([row(system=[1])], "field 'system': Expected a text"),
        ([row(status=None)], "field 'status'"),
        ([row(id=None)], "field 'id'"),
        (
            [row(), row(evidence={"significant": {"b": 0}, "errors": {}})],
            "row 2: field 'evidence': Expected errors of a",
        ),
        ([{**row(), "evidence": None, "total": None, "status": "empty candidate"}], "with an answer but got none"),
    ],
)
def test_summarize_files_invalid_row_is_named_in_one_line(
    rows: list[dict[str, Any]], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in rows), encoding="utf-8")
    with pytest.raises(InputError) as error:
        summarize_files([path])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_summarize_command_finds_the_columns_of_a_folder(tmp_path: Path) -> None:
    names = ("total", "evidence", "status")
    rows = {f"{scorer}_{name}": row()[name] for scorer in ("first", "second") for name in names}
    file = _write_rows(tmp_path / "scores.jsonl", {"id": "r", **rows})
    options = ["summarize", f"--input={file}", f"--output={tmp_path / 'out'}"]
    assert main([*options, "--scorer=runs/second/model"]) == 0
    assert main([*options, "--scorer=runs/third"]) == 2


def test_read_explanations_of_a_scorer_among_several(tmp_path: Path) -> None:
    path, plain = tmp_path / "scores.jsonl", row()
    scores = {name: plain[name] for name in ("total", "evidence", "status")}
    green, radreason = ({f"{name}_{key}": scores[key] for key in scores} for name in ("green", "radreason"))
    lexical = {"bleu_total": 0.1, "bleu_status": "ok"}
    (expected,) = read_explanations(_write_rows(path, plain))
    assert read_explanations(_write_rows(path, {"id": "r", **lexical, **green})) == [expected]
    with pytest.raises(InputError, match=r"explanations of er2score but the file has those of green\. Choose one, as"):
        read_explanations(path, scorer="er2score")
    both = _write_rows(path, {"id": "r", **green, **radreason, "radreason_total": 0.5})
    assert read_explanations(both, scorer="radreason") == [expected._replace(total=0.5)]
    with pytest.raises(InputError, match=r"those of green and radreason\. Choose one, as in --scorer green\.$"):
        read_explanations(both)
    with pytest.raises(InputError, match=r"those of one scorer, without its name in the columns: leave out --scorer"):
        read_explanations(_write_rows(path, plain), scorer="green")


def _write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in rows), encoding="utf-8")
    return path


def test_read_explanations_rejected_row_needs_no_id(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    rejected = {"id": None, "total": None, "status": "missing id", "evidence": None}
    path.write_text("".join(json.dumps(entry) + "\n" for entry in (row(), rejected)), encoding="utf-8")
    assert summarize_files([path]).systems[0].statistics.unscored_reasons == {"missing id": 1}


def test_summarize_command_invalid_input_changes_no_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    existing = tmp_path / "file"
    existing.write_text("content")
    assert main(["summarize", "--input=missing.jsonl", f"--output={existing}"]) == 2
    assert "Expected a folder" in capsys.readouterr().err
    assert existing.read_text() == "content"
    assert main(["summarize", "--input=missing.jsonl", f"--output={tmp_path / 'out'}"]) == 2
    assert "missing.jsonl: " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_explanations_from_scores_unequal_lengths_raise(green: GenerativeScorer) -> None:
    scores: Scores = green.score(["Clear."], ANSWERS[:1])
    with pytest.raises(ValueError, match="`ids` of 1 reports but got 2"):
        explanations_from_scores(scores, ["a", "b"])
    with pytest.raises(ValueError, match="`systems` of 1 reports but got 0"):
        explanations_from_scores(scores, ["a"], [])
    with pytest.raises(ValueError, match="`evidence` of 1 reports but got 0"):
        explanations_from_scores(scores._replace(evidence=None), ["a"])
    with pytest.raises(ValueError, match="explanations but got str"):
        explanations_from_scores(scores._replace(evidence=("x",)), ["a"])


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        ({"a": 0.0}, "no error in 1 report"),
        ({"a": None}, "no report whose error count could be parsed"),
        ({"a": 2.0}, "2 errors counted, none described"),
    ],
)
def test_summary_category_without_a_sentence_states_the_reason(errors: dict[str, float | None], text: str) -> None:
    explanation = Explanation("", "stop", None, None, errors, {}, {}, None, ())
    summary = summarize_explanations([ReportExplanation("r", None, 1.0, "ok", explanation)])
    for page in (summary_html(summary), summary_markdown(summary)):
        assert text in page
        assert "No plot: a t-SNE plot needs at least 5" in page
    assert summary.score_name == "Total"


def test_summary_of_many_systems_has_a_panel_per_system(green: GenerativeScorer) -> None:
    answers: Sequence[str] = ANSWERS * 2
    scores = green.score(["Clear."] * 12, answers)
    reports = explanations_from_scores(scores, list("abcdefghijkl"), [f"s{n}" for n in range(12)])
    summary = summarize_explanations(reports)
    assert "Errors of s0, s1, s2" in summary_markdown(summary)
    assert summary_html(summary).count("<figcaption>") == 12
