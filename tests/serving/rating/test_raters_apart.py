"""Several raters and several tabs in one browser: nobody's ratings are mixed or silently replaced."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from radreward.cli import main
from tests.meta_evaluation.page.browser import part, texts
from tests.serving.rating.conftest import CASES, ExportFile, Show
from tests.serving.rating.rating_browser import (
    cases_seen,
    change_rater,
    export_ratings,
    go_to,
    press,
    press_control,
    start,
    status,
)

InTab = Callable[[], None]


@pytest.fixture
def tabs(opened: Show) -> Iterator[tuple[Chrome, InTab, InTab]]:
    """Return the browser with the page in two tabs, and a function to switch to each."""
    browser = opened()
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    second = browser.current_window_handle
    opened()
    yield browser, lambda: browser.switch_to.window(first), lambda: browser.switch_to.window(second)
    browser.switch_to.window(second)
    browser.close()
    browser.switch_to.window(first)


def expected_order(digest: str, rater: str, count: int) -> list[int]:
    """Return the order of cases: FNV-1a of digest, name and index, with MurmurHash3's finalizer, sorted."""

    def hash_of(index: int) -> int:
        value = 0x811C9DC5
        for byte in f"{digest} {rater.lower()} {index}".encode():
            value = (value ^ byte) * 0x01000193 % 2**32
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            value = (value ^ value >> shift) * factor % 2**32
        return value

    return sorted(range(count), key=hash_of)


def test_raters_in_one_browser_stay_apart(
    opened: Show, key_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = opened()
    files = []
    for rater, ratings in (("Anne", (5, 2, 4)), ("Béla", (4, 1, 4))):
        start(browser, rater)
        assert "0 rated" in status(browser)
        for case, rating in zip(CASES, ratings, strict=True):
            go_to(browser, case["candidate"])
            press(browser, str(rating))
        files.append(tmp_path / f"ratings-{rater}.json")
        content = export_ratings(browser, files[-1])
        assert content["rater"] == rater
        assert [(case["candidate"], case["rating"]) for case in content["cases"]] == [
            (case["candidate"], rating) for case, rating in zip(CASES, ratings, strict=True)
        ]
        change_rater(browser)
    assert texts(browser, ".start-screen .choices button") == ["Anne 3 of 3 rated", "Béla 3 of 3 rated"]
    capsys.readouterr()
    sources = [str(path) for path in (*files, key_file)]
    assert main(["convert", "--input", *sources, "--from", "rate", "--output", str(tmp_path / "rated.jsonl")]) == 0
    [printed] = [line.split() for line in capsys.readouterr().out.splitlines() if "Rating" in line]
    assert printed == ["Anne", "–", "Béla", "Rating", "3", "0.143", "0.816", "+0.67"]  # κ = (1/3 − 2/9) / (1 − 2/9)


def test_name_is_recognized_without_case_and_spaces(opened: Show) -> None:
    browser = opened()
    start(browser, "Anne B")
    press(browser, "4")
    change_rater(browser)
    part(browser, "[data-key=rater]").send_keys("  anne   b \n")
    assert part(browser, ".rater").text == "Anne B"
    assert "1 rated" in status(browser)


def test_order_of_cases_depends_on_rater_and_digest_only(tmp_path: Path, browser: Chrome) -> None:
    cases = [{"id": n, "reference": "Clear lungs.", "candidate": f"Nodule {n}."} for n in range(5)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    page = tmp_path / "rate.html"
    assert main(["rate", "--input", str(tmp_path / "cases.jsonl"), "--output", str(page)]) == 0
    digest = json.loads(page.with_suffix(".key.json").read_text())["digest"]
    seen = {}
    browser.get(page.as_uri())
    for rater in ("Anne", "Béla", "ANNE"):
        part(browser, "[data-key=rater]").send_keys(rater, "\n")
        seen[rater] = cases_seen(browser)
        assert seen[rater] == [f"Nodule {n}." for n in expected_order(digest, rater, 5)]
        change_rater(browser)
    browser.execute_script("localStorage.clear(); sessionStorage.clear()")
    assert seen["Anne"] == seen["ANNE"] != seen["Béla"]
    assert sorted(seen["Anne"]) == sorted(seen["Béla"])


def test_tabs_of_one_rater_see_each_others_changes(tabs: tuple[Chrome, InTab, InTab]) -> None:
    browser, in_first, in_second = tabs
    in_first()
    start(browser, "Anne")
    press(browser, "4")
    in_second()
    start(browser, "Anne")
    assert "1 rated" in status(browser)
    press(browser, "n", "n", "2")  # a case that the first tab does not show
    in_first()
    WebDriverWait(browser, 30).until(lambda _: "2 rated" in status(browser))
    assert part(browser, "[role=alert]").text == "Anne changed 1 case in another tab: 3."
    press(browser, "a")  # does not bring back an older state of the other case
    in_second()
    WebDriverWait(browser, 30).until(
        lambda _: "changed 1 case in another tab: 1." in part(browser, "[role=alert]").text
    )
    assert "2 rated" in status(browser)


def test_undo_leaves_a_case_that_another_tab_changed_since(tabs: tuple[Chrome, InTab, InTab]) -> None:
    browser, in_first, in_second = tabs
    in_first()
    start(browser, "Anne")
    press(browser, "4")
    in_second()
    start(browser, "Anne")
    part(browser, "[data-key=case0]").click()
    press(browser, "2")
    in_first()
    WebDriverWait(browser, 30).until(lambda _: "another tab" in part(browser, "[role=alert]").text)
    press_control(browser, "z")
    assert part(browser, "[role=alert]").text == "Case 1 was changed in another tab. This step is left as it is."
    assert part(browser, "[data-key=rating2]").get_attribute("aria-pressed") == "true"


def test_tabs_of_two_raters_do_not_meet(tabs: tuple[Chrome, InTab, InTab], opened: Show) -> None:
    browser, in_first, in_second = tabs
    in_first()
    start(browser, "Anne")
    press(browser, "4", "u", "3")
    in_second()
    start(browser, "Béla")
    press(browser, "1")
    assert "1 rated" in status(browser)
    in_first()
    assert "2 rated" in status(opened())  # a reload keeps the rater of the tab
    assert part(browser, ".rater").text == "Anne"


def test_page_continues_with_a_saved_file_of_the_same_cases_only(opened: Show, export: ExportFile) -> None:
    browser = opened()
    field = browser.find_element(By.CSS_SELECTOR, "input[type=file]")

    def alert_after(path: Path) -> str:
        before = part(browser, "[role=alert]").text
        field.send_keys(str(path))
        WebDriverWait(browser, 30).until(lambda _: part(browser, "[role=alert]").text != before)
        return part(browser, "[role=alert]").text

    assert "of the same cases" in alert_after(export("other.json", "Béla", (3, []), digest="0"))
    refused: list[dict[str, Any]] = [
        {"rater": 3},
        {"cases": []},
        {"cases": [{"rating": 9, "errors": [], "note": ""}] * 3},
    ]
    for number, changes in enumerate(refused):
        if number:  # the message is the same, so another one comes between
            alert_after(export("other.json", "Béla", format="x"))
        assert "it was changed" in alert_after(export(f"{number}.json", "Béla", (3, []), **changes))
    own = export("own.json", "Béla", (3, [("omission", True)]))
    field.send_keys(str(own))
    WebDriverWait(browser, 30).until(lambda _: part(browser, ".rater").text == "Béla")
    assert "1 rated" in status(browser)
    go_to(browser, "Large")
    assert texts(browser, ".errors tbody th") == ["omission"]

    press(browser, "5")  # the file would replace a newer rating
    field.send_keys(str(own))
    WebDriverWait(browser, 30).until(lambda _: browser.switch_to.alert)
    assert browser.switch_to.alert.text.startswith(
        "Replace the 1 ratings of Béla in this browser by the 1 of the file?"
    )
    browser.switch_to.alert.dismiss()
    assert part(browser, "[data-key=rating5]").get_attribute("aria-pressed") == "true"


def test_unreadable_ratings_are_set_aside(opened: Show) -> None:
    browser = opened()
    start(browser, "Anne")
    [key] = browser.execute_script("return Object.keys(localStorage)")
    browser.execute_script("localStorage.setItem(arguments[0], '{\"entries\": 1}'); sessionStorage.clear()", key)
    opened()
    start(browser, "Anne")
    assert "cannot be read. Open your last exported file" in part(browser, "[role=alert]").text
    values = browser.execute_script("return Object.values(localStorage)")
    assert '{"entries": 1}' in values
