"""The page as a file, without a browser."""

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
from radreward.io import pages
from radreward.io.pages.json_script import json_for_script
from radreward.meta_evaluation.page.write_page import write_page
from tests.meta_evaluation.page.browser import Benchmark

FOLDERS = [Path(str(module.__file__)).parent / "js" for module in (package, pages)]
SOURCES = sorted(path for folder in FOLDERS for path in folder.glob("*.js"))


def data_of(page: Path) -> Any:
    text = page.read_text(encoding="utf-8")
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert match
    return json.loads(match[1])


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_for_script_keeps_the_value_and_cannot_close_its_element(value: Any) -> None:
    text = json_for_script(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set(text) & set("<>&")


def test_write_page_results_are_rounded_to_five_digits(page: Path, benchmark: Benchmark) -> None:
    results, _ = benchmark
    embedded = data_of(page)["results"]
    assert embedded["data"] == results["data"]
    assert len(embedded["agreement"]) == len(results["agreement"])
    for entry, expected in zip(embedded["agreement"], results["agreement"], strict=True):
        assert (entry["scorer"], entry["note"]) == (expected["scorer"], expected["note"])
        value = expected["tau_b"]["value"]
        assert entry["tau_b"]["value"] == (None if value is None else pytest.approx(value, rel=1e-4))


def test_write_page_is_deterministic(page: Path, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    write_page(results, iter(rows), tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_write_page_policy_allows_only_the_own_script_and_style(page: Path) -> None:
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


def test_write_page_has_no_external_links(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")  # a name, never fetched
    assert not re.search(r"https?://|\bsrc\s*=|url\(|@import|<link", text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_scripts_never_parse_text_as_markup(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|</script", source
    )


def test_write_page_contains_every_script(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert all(path.read_text(encoding="utf-8") in text for path in SOURCES)


def test_write_page_other_format_is_rejected(benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    with pytest.raises(InputError, match="Expected results of format 2 but got 1"):
        write_page({**results, "format": 1}, rows, tmp_path / "page.html")


def test_write_page_unwritable_folder_is_named(benchmark: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file"):
        write_page(*benchmark, tmp_path / "file" / "page.html")


def test_write_page_nan_is_rejected(benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    agreement = [{**results["agreement"][0], "n": float("nan")}]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_page({**results, "agreement": agreement}, rows, tmp_path / "page.html")
