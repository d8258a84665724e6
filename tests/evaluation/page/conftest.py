"""A page of made-up results, and a real browser to read it with."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from benchmarks._page_data import pretend
from radreward.evaluation.page import write_page

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
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
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Headless Chromium: started once, for it takes longer than all that is done with it."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.fail("Expected Chromium and its driver: apt-get install -y chromium chromium-driver", pytrace=False)
    options = ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = Chrome(options=options, service=Service(driver))
    yield started
    started.quit()
