"""Page of a large benchmark: time to write it, its size, and the time until it is usable in Chromium.

Targets: 5 MB, and 2 s from navigation until all is drawn and a table has been sorted. A new browser in each round, so
that nothing is compiled in advance; median of several rounds, because other programs may use the machine.
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

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from benchmarks._figures import Figure
from benchmarks._page_data import fake_results
from radreward.meta_evaluation.page.write_page import write_page

BYTES, SECONDS = 5_000_000, 2.0
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
MEASURE_LOAD = """
const done = arguments[0];
// Size observers have finished drawing two frames later.
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
    """Size of a benchmark; four pairs per case."""

    cases: int = 500
    scorers: int = 20


@contextmanager
def chromium() -> Iterator[Chrome]:
    """Yield a headless browser with a new profile, which records console messages.

    Raises:
        FileNotFoundError: If Chromium or its driver is not installed.
    """
    paths = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if missing := [name for name, path in paths.items() if path is None]:
        raise FileNotFoundError(f"Expected {' and '.join(missing)}: apt-get install -y chromium chromium-driver")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ChromeOptions()
        options.binary_location = str(paths["chromium"])
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = Chrome(options=options, service=Service(paths["chromedriver"]))
        try:
            yield browser
        finally:
            browser.quit()


def load(path: Path) -> dict[str, float]:
    """Return milliseconds until the page is `ready` (tables) and `usable` (all drawn, one table sorted)."""
    with chromium() as browser:
        browser.get(path.as_uri())
        times: dict[str, float] = browser.execute_async_script(MEASURE_LOAD)
        assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
        return times


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """Write and load a page; return the results that are printed as JSON."""
    results, rows = fake_results(case.cases, case.scorers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        start = time.perf_counter()
        write_page(results, rows, path)
        written = time.perf_counter() - start
        loads = [load(path) for _ in range(rounds)]
        size = path.stat().st_size
    medians = {name: median(entry[name] for entry in loads) for name in loads[0]}
    return {**case._asdict(), "pairs": len(rows), "bytes": size, "write_seconds": written, **medians}


def main(cases: Sequence[Case] = (Case(),), rounds: int = 5) -> list[Figure]:
    """Run and print the benchmark."""
    measured = []
    for case in cases:
        result = measure(case, rounds)
        print(json.dumps(result), flush=True)
        work = f"page of {case.scorers} scorers, {result['pairs']:,} pairs"
        measured += [
            Figure(f"{work}: size", result["bytes"] / 1e6, "MB", at_most=BYTES / 1e6),
            Figure(f"{work}: usable", result["usable"] / 1000, "s", at_most=SECONDS),
            Figure(f"{work}: sorted", result["sort"], "ms"),
            Figure(f"{work}: written", result["write_seconds"], "s"),
        ]
    return measured
