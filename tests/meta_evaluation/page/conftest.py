"""A page of generated results, and a browser that shows it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from benchmarks._page_data import fake_results
from radreward.meta_evaluation.page.write_page import write_page
from tests.meta_evaluation.page.browser import Benchmark, Open, wait_until_ready


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


@pytest.fixture
def opened(browser: Chrome, page: Path) -> Iterator[Open]:
    """Return a function that opens a page at a size and in a colour scheme; console messages are errors."""

    def show(path: Path = page, width: int = 1200, scheme: str = "light") -> Chrome:
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(path.as_uri())
        wait_until_ready(browser)
        return browser

    yield show
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
