"""The page of `radreward rate` in Chromium: two cases rated by keyboard, saved, exported and converted."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from radreward.cli import main
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs
from tests.meta_evaluation.page.browser import part, texts
from tests.serving.rating.conftest import ExportFile

Show = Callable[[], Chrome]


@pytest.fixture
def opened(browser: Chrome, cases_file: Path, tmp_path: Path) -> Iterator[Show]:
    """Return a function that opens the page, again too; console messages are errors."""
    page = tmp_path / "rate.html"
    assert main(["rate", "--input", str(cases_file), "--output", str(page)]) == 0
    downloads = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)

    def show() -> Chrome:
        browser.get(page.as_uri())
        assert browser.execute_script("return document.documentElement.dataset.ready") == "true"
        return browser

    show().execute_script("localStorage.clear()")
    yield show
    browser.execute_script("localStorage.clear()")
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def press(browser: Chrome, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def test_two_cases_are_rated_by_keyboard_saved_exported_and_converted(
    opened: Show, export: ExportFile, tmp_path: Path
) -> None:
    browser = opened()
    part(browser, "[data-key=candidate]").send_keys(Keys.ARROW_RIGHT)
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT).key_up(Keys.SHIFT).perform()
    press(browser, "c", Keys.ARROW_RIGHT, "a", "s", "2")  # wrong location; a false finding that does not matter
    assert texts(browser, ".errors tbody tr") == [
        "incorrect location\tsignificant\tcandidate: “Large right”\tDelete",
        "false prediction\tinsignificant\tcandidate: “effusion.”\tDelete",
    ]
    press(browser, "n", "b", "b", Keys.DELETE, "1")  # an omission without a place
    assert "Case 2 of 3 · 2 rated" in part(browser, ".progress").text

    # All of it was saved; a page opened at once may miss what the browser stores a moment later.
    WebDriverWait(browser, 30).until(lambda _: "Case 2 of 3 · 2 rated" in part(opened(), ".progress").text)
    assert part(browser, "[data-key=rating1]").get_attribute("aria-pressed") == "true"
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("s").key_up(Keys.CONTROL).perform()
    assert "Enter your name first" in part(browser, "[role=alert]").text
    press(browser, "Änne B.")
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("s").key_up(Keys.CONTROL).perform()
    path = tmp_path / "ratings-Änne-B-.json"
    WebDriverWait(browser, 30).until(lambda _: path.exists())
    first = json.loads(path.read_text())["cases"][0]["errors"][0]
    assert (first["start"], first["end"], first["text"]) == (0, 11, "Large right")

    rated = tmp_path / "rated.jsonl"
    other = export("other.json", "Béla", (3, []), (2, [("omission", True)]))
    assert main(["convert", "--input", str(path), str(other), "--from", "rate", "--output", str(rated)]) == 0
    pairs = read_rated_pairs(rated)
    assert pairs.rows[0].ratings == {"Änne B.": 2, "Béla": 3}
    assert dict(pairs.rows[0].errors["Änne B."]) == {
        **dict.fromkeys(pairs.criteria, 0.0), "incorrect_location": 1.0, "false_prediction": 1.0
    }  # fmt: skip
    assert sum(pairs.rows[0].significant_errors["Änne B."].values()) == 1
    assert pairs.rows[1].errors["Änne B."]["omission"] == 1


def test_page_continues_with_a_saved_file_of_the_same_cases_only(opened: Show, export: ExportFile) -> None:
    browser = opened()
    field = browser.find_element(By.CSS_SELECTOR, "input[type=file]")
    field.send_keys(str(export("other.json", "Béla", (3, []), digest="0")))
    WebDriverWait(browser, 30).until(lambda _: "of the same cases" in part(browser, "[role=alert]").text)
    field.send_keys(str(export("own.json", "Béla", (3, [("omission", True)]))))
    WebDriverWait(browser, 30).until(lambda _: "1 rated" in part(browser, ".progress").text)
    assert part(browser, "[data-key=rater]").get_attribute("value") == "Béla"
    assert texts(browser, ".errors tbody th") == ["omission"]


def test_page_is_offline_blind_and_shows_reports_as_text(opened: Show, tmp_path: Path) -> None:
    browser = opened()
    assert "onerror" in part(browser, "[data-key=candidate]").text
    assert browser.title == "Rate reports"
    press(browser, "n")
    assert "A" not in part(browser, "main h3").text.removeprefix("Case")  # the system
    text = (tmp_path / "rate.html").read_text()
    assert not re.search(r"https?://(?!www\.w3\.org)|\bsrc\s*=\s*[^x]|url\(|@import|<link|connect-src", text)
