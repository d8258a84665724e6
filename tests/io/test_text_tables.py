"""Names in tables of Markdown and LaTeX stay one cell of text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.io.terminal import printable
from radreward.io.text_tables import escape_latex, latex_table, markdown_code, markdown_table, text_frame

HOSTILE = ("a|b", "a\nb", "a\r\n| x |", "`code`", "<script>", "&lt;b&gt;", "[x](https://x.org)", "**b**", "\x1b[31mred")


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_cell_stays_one_cell_of_text(name: str) -> None:
    lines = markdown_table(text_frame([name, "n"], [[name, 1]])).splitlines()
    assert len(lines) == 3
    for line in (lines[0], lines[2]):
        assert len(re.findall(r"(?<!\\)\|", line)) == 3
        assert not re.search(r"(?<!\\)[`*_<>\[\]&]|[\x00-\x1f]", line.replace("\\\\", ""))


@pytest.mark.parametrize("name", HOSTILE)
def test_latex_cell_stays_one_line_without_controls(name: str) -> None:
    assert "\n" not in escape_latex(name)
    assert not re.search(r"[\x00-\x1f]", escape_latex(name))
    assert len(latex_table(text_frame([name, "n"], [[name, 1]])).splitlines()) == 7


@given(st.text(st.one_of(st.sampled_from("` \n<|"), st.characters(exclude_categories=["Cs"]))))
def test_markdown_code_is_one_span_with_the_text(text: str) -> None:
    pytest.importorskip("markdown_it")
    from markdown_it import MarkdownIt

    shown = " ".join(printable(text).split())
    if not shown:
        return
    [token] = MarkdownIt("commonmark").parseInline(f"x {markdown_code(text)}")
    assert [child.type for child in token.children or []] == ["text", "code_inline"]
    assert (token.children or [])[1].content == shown
