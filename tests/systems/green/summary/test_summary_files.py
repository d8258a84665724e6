"""From what `radreward score` wrote to a summary in three files."""

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
from radreward.generative.explanation import Explanation
from radreward.generative.scorer import GenerativeScorer
from radreward.systems.green.summary import (
    ErrorSummary,
    ReportExplanation,
    explanations_from_scores,
    read_explanations,
    summarize_explanations,
    summarize_files,
    summarize_scores,
    write_summary,
)
from radreward.systems.green.summary.html import summary_html
from radreward.systems.green.summary.html_builder import element
from radreward.systems.green.summary.markdown import escape_markdown_line, summary_markdown
from radreward.types import Scores
from tests.systems.green.summary.conftest import green_answer

Write = Callable[..., Path]
ATTACK = "</style></title><script>document.title = 'hurt'</script><img src=x onerror=alert(1)> [a](javascript:b) | `c`"
WORDS = [
    "The nodule is left out",
    "A nodule is not said",
    "No word of the effusion",
    "Edema is lost",
    "No rib fracture",
]
ANSWERS = [green_answer({"significant_omission": [word]}) for word in (*WORDS, ATTACK)]


@pytest.fixture(scope="module")
def made(green: GenerativeScorer) -> ErrorSummary:
    """Two systems, one of them called something evil, and a report that nothing is known of."""
    answers = [*ANSWERS, green_answer({}), "No idea."]
    systems = [ATTACK if place % 2 else "plain" for place in range(len(answers))]
    scores = green.score(["Clear."] * len(answers), answers)
    return summarize_scores(scores, [f"case {place} {ATTACK}" for place in range(len(answers))], systems)


class Read(HTMLParser):
    """The text of a page, and the elements that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Read:
    reader = Read()
    reader.feed(page)
    reader.close()
    return reader


def test_three_files_hold_one_summary(made: ErrorSummary, tmp_path: Path) -> None:
    paths = write_summary(made, tmp_path / "out")
    assert [path.name for path in paths] == ["summary.html", "summary.md", "summary.json"]
    data = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert data["score"] == "GREEN"
    assert [system["system"] for system in data["systems"]] == ["plain", ATTACK]
    omission = data["systems"][0]["categories"][1]
    assert (omission["tag"], omission["n"], omission["accuracy"]) == ("omission", 4, 0.25)
    assert data["systems"][0]["readings"]["score"]["mean"] == 0.8125
    assert data["systems"][1]["readings"]["unscored"] == {
        "unparsable answer: section missing: clinically significant errors": 1
    }
    assert len(data["plot"]["points"]) == data["plot"]["laid_out"] == 6
    shown = paths[1].read_text(encoding="utf-8")
    page = "".join(read(paths[0].read_text(encoding="utf-8")).text)
    for text in ("0.812 ± 0.125", "0.250"):  # 3 / 4 three times and 1
        assert text in shown
        assert text in page
    for category in data["systems"][0]["categories"]:
        for cluster in category["clusters"]:
            assert cluster["quotes"][0]["sentence"] in page


def test_a_page_is_the_same_every_time(made: ErrorSummary) -> None:
    assert summary_html(made) == summary_html(made)
    assert summary_markdown(made) == summary_markdown(made)


def test_text_of_models_is_text_in_the_page(made: ErrorSummary) -> None:
    page = summary_html(made)
    found = read(page)
    assert ATTACK in "".join(found.text)
    assert not {"script", "img", "a", "iframe"} & set(found.tags)
    assert not {name for name in found.attributes if name.startswith("on") or name in ("style", "src", "href")}
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    assert f"style-src &#x27;sha256-{digest}&#x27;" in policy
    assert policy.startswith("default-src &#x27;none&#x27;")


@given(st.text())
def test_text_and_attributes_are_escaped(text: str) -> None:
    found = read(element("p", text, title=text))
    assert found.tags == ["p"]
    assert found.attributes == {"title"}
    if "\r" not in text and "\0" not in text:
        assert "".join(found.text) == text


@given(st.text(st.sampled_from("ab <>&#;[]()!*_`~|\\$^=-+1.:/@\nwp\"'")) | st.text())
@settings(max_examples=300)
def test_markdown_shows_any_text_as_it_stands(text: str) -> None:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(f"x {escape_markdown_line(text)}")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    text = text.replace("\0", "\ufffd")  # as Markdown has it
    assert {child.type for child in children} <= {"text", "text_special"}
    assert "".join(child.content for child in children) == f"x {' '.join(text.split())}".rstrip()


@pytest.mark.parametrize(
    "text", ["1. One", "- two", "+ three", "# four", "> five", "---", "===", "0.5 mm", "www.x.org"]
)
def test_a_line_of_text_begins_nothing(text: str) -> None:
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


def test_a_browser_shows_it_and_runs_nothing(made: ErrorSummary, tmp_path: Path, browser: Chrome) -> None:
    page = write_summary(made, tmp_path)[0]
    browser.get(page.as_uri())
    assert browser.title.startswith("Errors of plain and </style>")
    marks = browser.execute_script("return document.querySelectorAll('#plot svg[role=img] .dot').length")
    assert marks == 6
    quotes = browser.execute_script("return [...document.querySelectorAll('blockquote')].map((q) => q.innerText)")
    assert set(quotes) <= {*WORDS, ATTACK}
    fill = browser.execute_script("return getComputedStyle(document.querySelector('.bar')).opacity")
    assert fill == "0.35"  # the style is allowed
    width = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    assert width <= 0
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", ["reasons.jsonl", "reasons.csv", "reasons.parquet"])
def test_files_of_scores_say_the_same_as_scores(name: str, scored: Write, green: GenerativeScorer) -> None:
    answers = [*ANSWERS[:3], "", "No idea."]
    systems = ["a", "b", "a", "b", "a"]
    found = read_explanations(scored(answers, name, systems))
    ids = [f"r{place}" for place in range(len(answers))]
    assert found == explanations_from_scores(green.score(["Clear."] * 5, answers), ids, systems)


def test_systems_of_several_files_are_called_like_them(scored: Write) -> None:
    files = [scored(ANSWERS[:1], "first.jsonl"), scored(ANSWERS[1:3], "second.csv", ["x", ""])]
    found = summarize_files(files)
    assert [system.system for system in found.systems] == ["first", "x", "second"]
    assert list(found.files) == [str(file) for file in files]
    with pytest.raises(InputError, match="two are called first"):
        summarize_files([files[0], files[0]])


def test_the_command_writes_a_summary(scored: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = scored([*ANSWERS, "No idea."])
    assert main(["summarize", f"--input={file}", f"--output={tmp_path / 'out'}"]) == 0
    told = capsys.readouterr().out
    assert "0.750 ± 0.000" in told
    assert "0.000 (n 6)" in told
    for name in ("summary.html", "summary.md", "summary.json"):
        assert str(tmp_path / "out" / name) in told.replace("\n", "")


def row(**changed: Any) -> dict[str, Any]:
    said = Explanation("", "stop", None, None, {"a": 1.0}, {"a": 0.0}, {"a": ("One",)}, 3.0, ("x",))._asdict()
    said |= changed.pop("evidence", {})
    return {"id": "r", "total": 0.75, "status": "ok", "evidence": json.dumps(said), **changed}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "Expected at least one row"),
        (
            [{"id": "r", "total": 1.0, "status": "ok"}],
            "row 1: field 'evidence': expected a column of this name, as `radreward score`",
        ),
        ([row(), row(total="many")], "row 2: field 'total': expected a finite number but got 'many'"),
        ([row(total=None)], "row 1: field 'total': expected a finite number, since the status is 'ok'"),
        ([row(total=1e999)], "row 1: field 'total': expected a finite number but got inf"),
        ([row(evidence={"matched": -1})], "field 'evidence.matched': expected a number from 0 to 1e9 but got -1"),
        ([row(evidence={"matched": True})], "field 'evidence.matched'"),
        ([row(evidence={"significant": {"a": 1e999}})], "field 'evidence.significant.a'"),
        ([row(evidence={"significant": [1]})], "field 'evidence.significant': expected counts by category"),
        ([row(evidence={"errors": {"z": ["One"]}})], "field 'evidence.errors'"),
        ([row(evidence={"errors": {"a": "One"}})], "field 'evidence.errors.a': expected a list of texts"),
        ([row(evidence={"errors": {"a": ["\ud800"]}})], "field 'evidence.errors.a': expected a text in UTF-8"),
        ([row(evidence={"findings": None})], "field 'evidence.findings'"),
        ([row(evidence={"explanation": 1})], "field 'evidence.explanation'"),
        ([row(evidence={"more": 1})], "field 'evidence': 'more' is missing or unknown"),
        ([{**row(), "evidence": "{"}], "field 'evidence': expected JSON"),
        ([{**row(), "evidence": "[" * 100_000}], "field 'evidence': expected JSON"),
        ([{**row(), "evidence": "[1]"}], "field 'evidence': expected an object but got list"),
        ([{**row(), "evidence": None}], "field 'evidence': expected what the model said, since"),
        ([row(system=[1])], "field 'system': expected a text"),
        ([row(status=None)], "field 'status'"),
        ([row(id=None)], "field 'id'"),
        (
            [row(), row(evidence={"significant": {"b": 0}, "errors": {}})],
            "row 2, field 'evidence': Expected errors of a",
        ),
        ([{**row(), "evidence": None, "total": None, "status": "empty candidate"}], "answered but there is none"),
    ],
)
def test_bad_rows_are_told_in_one_line(rows: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    path = tmp_path / "reasons.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in rows), encoding="utf-8")
    with pytest.raises(InputError) as told:
        summarize_files([path])
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_a_rejected_row_needs_no_id(tmp_path: Path) -> None:
    path = tmp_path / "reasons.jsonl"
    rejected = {"id": None, "total": None, "status": "missing id", "evidence": None}
    path.write_text("".join(json.dumps(entry) + "\n" for entry in (row(), rejected)), encoding="utf-8")
    assert summarize_files([path]).systems[0].statistics.unscored_reasons == {"missing id": 1}


def test_the_command_tells_bad_input_and_leaves_files_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "file"
    taken.write_text("mine")
    assert main(["summarize", "--input=nowhere.jsonl", f"--output={taken}"]) == 2
    assert "Expected a folder" in capsys.readouterr().err
    assert taken.read_text() == "mine"
    assert main(["summarize", "--input=nowhere.jsonl", f"--output={tmp_path / 'out'}"]) == 2
    assert "nowhere.jsonl: cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_arguments_that_do_not_fit_are_refused(green: GenerativeScorer) -> None:
    scores: Scores = green.score(["Clear."], ANSWERS[:1])
    with pytest.raises(ValueError, match="`ids` of 1 reports but got 2"):
        explanations_from_scores(scores, ["a", "b"])
    with pytest.raises(ValueError, match="`systems` of 1 reports but got 0"):
        explanations_from_scores(scores, ["a"], [])
    with pytest.raises(ValueError, match="`evidence` of 1 reports but got 0"):
        explanations_from_scores(scores._replace(evidence=None), ["a"])
    with pytest.raises(ValueError, match="explains but got str"):
        explanations_from_scores(scores._replace(evidence=("x",)), ["a"])


@pytest.mark.parametrize(
    ("errors", "shown"),
    [
        ({"a": 0.0}, "no error in 1 report"),
        ({"a": None}, "no report whose number of errors could be read"),
        ({"a": 2.0}, "2 errors counted, none of them in words"),
    ],
)
def test_a_category_without_a_sentence_says_why(errors: dict[str, float | None], shown: str) -> None:
    said = Explanation("", "stop", None, None, errors, {}, {}, None, ())
    found = summarize_explanations([ReportExplanation("r", None, 1.0, "ok", said)])
    for text in (summary_html(found), summary_markdown(found)):
        assert shown in text
        assert "No plot: a t-SNE plot needs at least 5" in text
    assert found.score_name == "Total"


def test_there_may_be_many_systems(green: GenerativeScorer) -> None:
    answers: Sequence[str] = ANSWERS * 2
    found = summarize_scores(green.score(["Clear."] * 12, answers), list("abcdefghijkl"), [f"s{n}" for n in range(12)])
    assert "Errors of s0, s1, s2" in summary_markdown(found)
    assert summary_html(found).count("<figcaption>") == 12
