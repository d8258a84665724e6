"""A page of generated results, and a browser that reads it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

from benchmarks._page_data import fake_results
from benchmarks.page_render import chromium
from radreward.meta_evaluation.page import write_page

Benchmark = tuple[dict[str, Any], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def benchmark() -> Benchmark:
    """Return results and rows of a small benchmark."""
    return fake_results(cases=30, scorers=6)


@pytest.fixture(scope="session")
def page(benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of the benchmark."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(*benchmark, path)
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    """Return headless Chromium, started once because its start is slower than all tests."""
    try:
        with chromium() as driver:
            yield driver
    except FileNotFoundError as error:
        pytest.fail(str(error), pytrace=False)
