"""Cases to rate, and files as the page exports them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

from radreward.cli import main
from radreward.criteria import RadCliQCriteria
from radreward.meta_evaluation.converters.rating_key import write_key
from radreward.serving.rating.cases import read_cases
from tests.meta_evaluation.page.browser import wait_until_ready
from tests.serving.rating.exported_files import GivenRating, write_export

MARKUP = '</script><img src=x onerror="document.title=1">'
CASES = [
    {
        "id": "1",
        "reference": "Small left effusion \U0001fac1. No edema.",
        "candidate": f"Large right effusion. {MARKUP}",
    },
    {"id": "2", "reference": "Rib fracture. No edema.", "candidate": "No edema.", "group": "g", "system": "A"},
    {"id": "3", "reference": "Clear lungs.", "candidate": "Clear lungs."},
]
TAGS = list(RadCliQCriteria().tags)
ExportFile = Callable[..., Path]
Show = Callable[[], Chrome]


@pytest.fixture
def cases_file(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    return path


@pytest.fixture
def key_file(cases_file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "rate.key.json"
    write_key(read_cases(cases_file), TAGS, path)
    return path


@pytest.fixture
def export(cases_file: Path, tmp_path: Path) -> ExportFile:
    """Return a function that writes an exported file with ratings and errors of the first cases."""
    cases = read_cases(cases_file)

    def write(name: str, rater: str, /, *given: GivenRating, **changes: Any) -> Path:
        write_export(tmp_path / name, cases, TAGS, rater, given, **changes)
        return tmp_path / name

    return write


@pytest.fixture
def opened(browser: Chrome, cases_file: Path, tmp_path: Path) -> Iterator[Show]:
    """Return a function that opens the page, again too; console messages are errors."""
    page = tmp_path / "rate.html"
    assert main(["rate", "--input", str(cases_file), "--output", str(page)]) == 0
    downloads = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)

    def show() -> Chrome:
        browser.get(page.as_uri())
        wait_until_ready(browser)
        return browser

    show().execute_script("localStorage.clear(); sessionStorage.clear()")
    yield show
    browser.execute_script("localStorage.clear(); sessionStorage.clear()")
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
