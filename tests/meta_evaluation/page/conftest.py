"""A page of made-up results, and a real browser to read it with."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

from benchmarks._page_data import pretend
from benchmarks.page_render import chromium
from radreward.meta_evaluation.page import write_page

Found = tuple[dict[str, Any], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def found() -> Found:
    """Results and rows of a small benchmark."""
    return pretend(cases=30, scorers=6)


@pytest.fixture(scope="session")
def page(found: Found, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its page."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(*found, path)
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    """Headless Chromium: started once, for it takes longer than all that is done with it."""
    try:
        with chromium() as started:
            yield started
    except FileNotFoundError as error:
        pytest.fail(str(error), pytrace=False)
