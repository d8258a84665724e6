"""The documentation site in a real browser: no error in the console, and no request to another host."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.common.exceptions import ElementNotInteractableException
from selenium.webdriver import Chrome
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.wait import WebDriverWait

from radreward.scorers import SCORERS

ROOT = Path(__file__).resolve().parents[1]


class _SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Return the address of a server of the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_SilentHandler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_pages_open_without_console_errors_and_external_requests(browser: Chrome, address: str) -> None:
    for page in ("index", "score", "metrics/er2score", "notebooks/score_reports", "reinforcement", "api"):
        browser.get(f"{address}{page}.html")
        assert browser.find_element("tag name", "h1").text
        requested = browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
        assert requested
        assert [name for name in requested if not name.startswith((address, "data:"))] == []
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[no-untyped-call]
    assert errors == []


def test_search_finds_pages_that_are_opened_from_the_disk(browser: Chrome, site: Path) -> None:
    browser.get((site / "score.html").as_uri())
    browser.find_element("css selector", "label.md-header__button[for=__search]").click()  # on a narrow screen
    query = browser.find_element("css selector", "[data-md-component=search-query]")

    def write_query(_: WebDriver) -> bool:
        query.send_keys("cuda")
        return True

    # The field slides in: for a moment, it is displayed and takes no keys.
    WebDriverWait(browser, 60, ignored_exceptions=[ElementNotInteractableException]).until(write_query)
    results = WebDriverWait(browser, 60).until(
        lambda page: page.find_elements("css selector", ".md-search-result__item a[href*='gpu.html']")
    )
    assert results
    requested = browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert [name for name in requested if not name.startswith(("file:", "data:"))] == []
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[no-untyped-call]
    assert errors == []


def test_every_metric_has_a_page(site: Path) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "metrics").glob("*.html"))
    assert set(re.findall(r"<li><code>([\w-]+)</code>: ", text)) == set(SCORERS)


def test_links_lead_to_pages_of_the_site(site: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html") if page.name != "404.html"}
    targets = {
        (page, link)
        for page, text in pages.items()
        for link in re.findall(r'<a [^>]*href="([^"]+)"', text)
        if not re.match(r"[a-z]+:", link)
    }
    assert targets
    for page, link in sorted(targets):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        target = target / "index.html" if target.is_dir() else target
        assert target.is_file(), (page.name, link)
        if anchor and target in pages:
            assert f'id="{anchor}"' in pages[target], (page.name, link)


def test_doctests_are_blocks_of_code(site: Path) -> None:
    text = (site / "api.html").read_text(encoding="utf-8")
    assert "<blockquote>" not in text
    assert text.count('<span class="gp">&gt;&gt;&gt; </span>') > 50
