"""The file, without a browser."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import radreward.meta_evaluation.page as package
from radreward.errors import InputError
from radreward.meta_evaluation.page import write_page
from radreward.meta_evaluation.page.json_script import json_for_script
from tests.meta_evaluation.page.conftest import Found

SOURCES = sorted((Path(package.__file__).parent / "js").glob("*.js"))


def data_of(page: Path) -> Any:
    text = page.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_embedded_json_is_the_same_value_and_cannot_break_out(value: Any) -> None:
    text = json_for_script(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set(text) & set("<>&")


def test_holds_the_results_in_five_digits(page: Path, found: Found) -> None:
    results, _ = found
    held = data_of(page)["results"]
    assert held["data"] == results["data"]
    assert len(held["agreement"]) == len(results["agreement"])
    for one, other in zip(held["agreement"], results["agreement"], strict=True):
        assert (one["scorer"], one["note"]) == (other["scorer"], other["note"])
        value = other["tau_b"]["value"]
        assert one["tau_b"]["value"] == (None if value is None else pytest.approx(value, rel=1e-4))


def test_is_the_same_file_every_time(page: Path, found: Found, tmp_path: Path) -> None:
    results, rows = found
    write_page(results, iter(rows), tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_the_policy_allows_the_own_script_and_style_and_nothing_else(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', text)
    assert policy
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    for rule, tag in (("style-src", "style"), ("script-src", "script")):
        source = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert len(source) == 1
        digest = base64.b64encode(hashlib.sha256(source[0].encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_names_nothing_outside_of_itself(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")  # a name, never fetched
    assert not re.search(r"https?://|\bsrc\s*=|url\(|@import|<link", text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_scripts_make_no_markup_of_text(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|</script", source
    )


def test_every_script_is_in_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert all(path.read_text(encoding="utf-8") in text for path in SOURCES)


def test_results_of_another_format_are_refused(found: Found, tmp_path: Path) -> None:
    results, rows = found
    with pytest.raises(InputError, match="expected results of format 1 but got 2"):
        write_page({**results, "format": 2}, rows, tmp_path / "page.html")


def test_a_folder_that_is_not_there_is_named(found: Found, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere/page.html: cannot be written: No such file"):
        write_page(*found, tmp_path / "nowhere" / "page.html")


def test_not_a_number_is_refused(found: Found, tmp_path: Path) -> None:
    results, rows = found
    agreement = [{**results["agreement"][0], "n": float("nan")}]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_page({**results, "agreement": agreement}, rows, tmp_path / "page.html")
