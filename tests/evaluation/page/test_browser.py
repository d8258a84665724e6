"""The page as people use it, in Chromium."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

from radreward.evaluation.page import write_page
from tests.evaluation.page.conftest import Found

Open = Callable[..., Chrome]


@pytest.fixture
def opened(browser: Chrome, page: Path) -> Iterator[Open]:
    """Opens a page at a size and in a colour scheme; whatever the console says in the meantime is an error."""

    def show(path: Path = page, width: int = 1200, scheme: str = "light") -> Chrome:
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(path.as_uri())
        assert browser.execute_script("return document.documentElement.dataset.ready") == "true"
        return browser

    yield show
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def column(browser: Chrome, section: str, place: int) -> list[str]:
    rows = browser.find_elements(By.CSS_SELECTOR, f"#{section} tbody:not(.pinned) tr")
    return [row.find_elements(By.CSS_SELECTOR, "th, td")[place].text.split("\n")[0] for row in rows]


def test_says_what_it_is(opened: Open) -> None:
    head = opened().find_element(By.TAG_NAME, "header").text
    assert "Metrics of chest x-ray reports" in head
    assert "120 pairs · 30 cases · 4 systems · 3 raters · 6 metrics" in head
    assert "Synthetic data" in head
    assert "Scores are for research" in head
    assert "2 pairs have the same reference and candidate." in head


def test_ranking_is_that_of_the_results(opened: Open, found: Found) -> None:
    browser = opened()
    results, _ = found
    tau = {
        entry["scorer"]: entry["tau_b"]["value"]
        for entry in results["agreement"]
        if (entry["target"], entry["scope"]) == ("errors", "pooled")
    }
    titles = {entry["name"]: entry["title"] for entry in results["scorers"]}
    known = sorted((name for name in tau if tau[name] is not None), key=lambda name: -tau[name])
    assert column(browser, "ranking", 0) == [titles[name] for name in known] + ["Constant"]
    assert column(browser, "ranking", 2) == [f"{tau[name]:.2f}".replace("-", "−") for name in known] + ["–"]
    assert "Perplexity failed: returned 3 scores for 4 pairs" in browser.find_element(By.ID, "ranking").text


def test_sorts_by_mouse_and_by_keyboard(opened: Open) -> None:
    browser = opened()
    head = browser.find_element(By.CSS_SELECTOR, "#ranking thead th")
    head.find_element(By.TAG_NAME, "button").click()
    names = column(browser, "ranking", 0)
    assert names == sorted(names)
    assert head.get_attribute("aria-sort") == "ascending"
    head.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert column(browser, "ranking", 0) == sorted(names, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_text_of_reports_stays_text(opened: Open, found: Found, tmp_path: Path) -> None:
    results, rows = found
    attack = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'><!-- \u2028 </style>"
    evil: list[dict[str, Any]] = [
        {
            **row,
            "id": f"{attack}{row['id']}",
            "candidate": attack + row["candidate"],
            "evidence": {"green": {attack: attack}},
        }
        for row in rows
    ]
    path = tmp_path / "evil.html"
    write_page({**results, "title": attack}, evil, path)
    browser = opened(path)
    assert browser.title.startswith("</script><script>")
    assert "</script><script>window.hurt" in browser.find_element(By.CSS_SELECTOR, "#disagreements .card").text
    assert browser.execute_script("return window.hurt") is None
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 2


def test_phone_has_no_horizontal_scroll(opened: Open) -> None:
    browser = opened(width=360)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 360


def test_dark_mode(opened: Open) -> None:
    def brightness(browser: Chrome, what: str) -> int:
        colour = browser.execute_script(f"return getComputedStyle(document.body).{what}")
        return sum(int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(","))

    light = opened()
    assert brightness(light, "backgroundColor") > brightness(light, "color")
    dark = opened(scheme="dark")
    assert brightness(dark, "backgroundColor") < brightness(dark, "color")
