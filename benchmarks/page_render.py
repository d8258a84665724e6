"""The page of a large benchmark: how long it takes to write, how large it is, and when it can be used in Chromium.

Targets: 5 MB, and 2 s from navigation until everything is drawn and a table has been sorted. A fresh browser each time,
so that nothing is compiled already; the median of several rounds, because others may use the machine.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from benchmarks._page_data import pretend
from radreward.meta_evaluation.page import write_page

BYTES, SECONDS = 5_000_000, 2.0
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WHEN = """
const done = arguments[0];
// What the observers of sizes still had to draw is there two frames later.
requestAnimationFrame(() => requestAnimationFrame(() => {
  const drawn = performance.now();
  document.querySelector("#ranking thead button").click();
  requestAnimationFrame(() => setTimeout(() => done({
    ready: performance.getEntriesByName("ready")[0].startTime,
    usable: performance.now(),
    sort: performance.now() - drawn,
    elements: document.querySelectorAll("*").length,
  })));
}));
"""


class Case(NamedTuple):
    """Four pairs a case."""

    cases: int = 500
    scorers: int = 20


@contextmanager
def chromium() -> Iterator[Chrome]:
    """A headless browser with a profile of its own, which keeps what the console says.

    Raises:
        FileNotFoundError: If Chromium or its driver is not installed.
    """
    found = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if missing := [name for name, path in found.items() if path is None]:
        raise FileNotFoundError(f"Expected {' and '.join(missing)}: apt-get install -y chromium chromium-driver")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ChromeOptions()
        options.binary_location = str(found["chromium"])
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = Chrome(options=options, service=Service(found["chromedriver"]))
        try:
            yield browser
        finally:
            browser.quit()


def load(path: Path) -> dict[str, float]:
    """Milliseconds from navigation until the page is `ready` (tables), `usable` (all is drawn and sorted once)."""
    with chromium() as browser:
        browser.get(path.as_uri())
        found: dict[str, float] = browser.execute_async_script(WHEN)
        assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
        return found


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """All figures of a page."""
    results, rows = pretend(case.cases, case.scorers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        begin = time.perf_counter()
        write_page(results, rows, path)
        written = time.perf_counter() - begin
        loads = [load(path) for _ in range(rounds)]
        size = path.stat().st_size
    middle = {name: median(entry[name] for entry in loads) for name in loads[0]}
    return {**case._asdict(), "pairs": len(rows), "bytes": size, "write_seconds": written, **middle}


def main(cases: Sequence[Case] = (Case(),), rounds: int = 5) -> None:
    """Measure and print; a missed target is said, not an error."""
    printed = Table(
        "page", "MB", f"target {BYTES / 1e6:g} MB", "usable, s", f"target {SECONDS:g} s", "sort, ms", "written, s"
    )
    for case in cases:
        found = measure(case, rounds)
        print(json.dumps(found), flush=True)
        seconds = found["usable"] / 1000
        printed.add_row(
            f"{case.scorers} scorers, {found['pairs']} pairs",
            f"{found['bytes'] / 1e6:.2f}",
            "met" if found["bytes"] < BYTES else "MISSED",
            f"{seconds:.2f}",
            "met" if seconds < SECONDS else "MISSED",
            f"{found['sort']:.0f}",
            f"{found['write_seconds']:.1f}",
        )
    Console(width=110).print(printed)


if __name__ == "__main__":
    main()
