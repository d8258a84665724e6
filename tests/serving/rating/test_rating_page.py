"""The page of `radreward rate` in Chromium: cases rated by keyboard, mouse and touch, with undo and a list of cases."""

import re
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from radreward.cli import main
from radreward.criteria import RadCliQCriteria
from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs
from tests.meta_evaluation.page.browser import part, texts
from tests.serving.rating.conftest import ExportFile, Show
from tests.serving.rating.rating_browser import (
    candidate,
    export_ratings,
    go_to,
    press,
    press_control,
    selected,
    start,
    status,
    tap,
    word,
)


def test_two_cases_are_rated_by_keyboard_saved_exported_and_converted(
    opened: Show, export: ExportFile, key_file: Path, tmp_path: Path
) -> None:
    browser = opened()
    start(browser, "Änne B.")
    go_to(browser, "Large")
    part(browser, "[data-key=candidate]").send_keys(Keys.ARROW_RIGHT)
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT).key_up(Keys.SHIFT).perform()
    press(browser, "c", Keys.ARROW_RIGHT, "a", "s", "2")  # wrong location; a false finding that does not matter
    assert texts(browser, ".errors tbody tr") == [
        "incorrect location\tmatters for care\tCandidate: “Large right”\tDelete",
        "false prediction\tdoes not matter\tCandidate: “effusion.”\tDelete",
    ]
    go_to(browser, "No edema.")
    press(browser, "b", "b", Keys.DELETE, "1")  # an omission without a place
    shown = status(browser)
    assert "2 rated" in shown

    # All of it was saved; a page opened at once may miss what the browser stores a moment later.
    WebDriverWait(browser, 30).until(lambda _: status(opened()) == shown)
    assert part(browser, "[data-key=rating1]").get_attribute("aria-pressed") == "true"
    path = tmp_path / "ratings-Änne-B-.json"
    entry = export_ratings(browser, path)["cases"][0]  # the order of the file
    assert entry["errors"][0] | {"text": "Large right", "start": 0, "end": 11} == entry["errors"][0]
    assert "1 case is not rated yet" in part(browser, "[role=alert]").text

    rated = tmp_path / "rated.jsonl"
    other = export("other.json", "Béla", (3, []), (2, [("omission", True)]))
    sources = [str(source) for source in (path, other, key_file)]
    assert main(["convert", "--input", *sources, "--from", "rate", "--output", str(rated)]) == 0
    pairs = read_rated_pairs(rated)
    assert pairs.rows[0].ratings == {"Änne B.": 2, "Béla": 3}
    assert dict(pairs.rows[0].errors["Änne B."]) == {
        **dict.fromkeys(pairs.criteria, 0.0), "incorrect_location": 1.0, "false_prediction": 1.0
    }  # fmt: skip
    assert sum(pairs.rows[0].significant_errors["Änne B."].values()) == 1
    assert pairs.rows[1].errors["Änne B."]["omission"] == 1


def test_undo_and_redo_take_back_steps_and_leave_the_name(opened: Show) -> None:
    browser = opened()
    start(browser, "Anne")
    press(browser, "a", "4", "n", "2")
    assert "Case 2 of 3 · 2 rated" in status(browser)
    press_control(browser, "z")
    assert "Case 2 of 3 · 1 rated" in status(browser)
    press_control(browser, "z")
    assert "Case 1 of 3 · 0 rated" in status(browser)
    assert texts(browser, ".errors tbody th") == ["false prediction"]
    press_control(browser, "z")
    press_control(browser, "z")
    assert part(browser, "[role=alert]").text == "Nothing to undo."
    assert texts(browser, ".errors tbody th") == []
    assert part(browser, ".rater").text == "Anne"
    press_control(browser, "y")
    part(browser, "[aria-label=Redo]").click()
    ActionChains(browser).key_down(Keys.CONTROL).key_down(Keys.SHIFT).send_keys("z").key_up(Keys.SHIFT).key_up(
        Keys.CONTROL
    ).perform()
    assert "Case 2 of 3 · 2 rated" in status(browser)
    assert not part(browser, "[aria-label=Redo]").is_enabled()
    part(browser, "[data-key=note]").send_keys("two words")
    part(browser, "h1").click()
    part(browser, "[aria-label=Undo]").click()  # a note is one step
    assert part(browser, "[data-key=note]").get_attribute("value") == ""


def test_phrase_is_selected_by_mouse(opened: Show) -> None:
    browser = opened()
    start(browser, "Anne")
    go_to(browser, "Large")
    first, second, third = (word(browser, "candidate", number) for number in range(3))
    ActionChains(browser).click_and_hold(second).move_to_element(third).release().perform()
    assert selected(browser) == "Selected in the candidate: “right effusion.”"
    ActionChains(browser).key_down(Keys.SHIFT).click(first).key_up(Keys.SHIFT).perform()
    assert selected(browser) == "Selected in the candidate: “Large right”"
    assert texts(browser, ".words .selected") == ["Large", " ", "right"]
    press(browser, "c")
    assert texts(browser, ".words .significant") == ["Large", " ", "right"]
    assert selected(browser).startswith("Nothing is selected")


def test_phrase_is_selected_by_touch(opened: Show) -> None:
    browser = opened()
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        start(browser, "Anne")
        go_to(browser, "Large")
        first, second, third = (word(browser, "candidate", number) for number in range(3))
        tap(browser, second)
        assert selected(browser) == "Selected in the candidate: “right”"
        tap(browser, first)  # the second tap extends the selection
        assert selected(browser) == "Selected in the candidate: “Large right”"
        tap(browser, third)  # the third starts again
        assert selected(browser) == "Selected in the candidate: “effusion.”"
        tap(browser, third)
        assert selected(browser).startswith("Nothing is selected")
        tap(browser, first, second)  # a swipe along the line
        assert selected(browser) == "Selected in the candidate: “Large right”"
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    part(browser, "[data-key=incorrect_location]").click()
    assert texts(browser, ".errors tbody td.quote") == ["Candidate: “Large right”"]


def test_list_shows_states_and_next_unrated_case(opened: Show) -> None:
    browser = opened()
    start(browser, "Anne")
    press(browser, "3", "n", "a", "n")
    labels = "return [...document.querySelectorAll('.case-list .case')].map((node) => node.ariaLabel)"
    assert browser.execute_script(labels) == ["Case 1: rated", "Case 2: started, not rated", "Case 3: not rated"]
    assert part(browser, "progress").get_attribute("value") == "1"
    press(browser, "2", "u")
    assert "Case 2 of 3 · 2 rated" in status(browser)
    press(browser, "1", "u")
    assert part(browser, "[role=alert]").text == "All cases are rated. Export the file and send it back."
    definitions = texts(browser, ".criteria small")
    assert definitions == [criterion.description for criterion in RadCliQCriteria().criteria]
    assert all(node.is_displayed() for node in browser.find_elements(By.CSS_SELECTOR, ".criteria small"))


@pytest.mark.parametrize("width", [1280, 390])
def test_page_is_never_wider_than_the_screen(width: int, opened: Show) -> None:
    browser = opened()
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        fits = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert browser.execute_script(fits)
        start(browser, "A rater with a name " * 4 + "x")
        press(browser, "a")
        assert browser.execute_script(fits)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_page_is_offline_and_shows_texts_as_text(opened: Show, tmp_path: Path) -> None:
    browser = opened()
    start(browser, '<img src=x onerror="document.title=1">')
    go_to(browser, "Large")
    assert "onerror" in candidate(browser)
    part(browser, "[data-key=candidate]").send_keys(Keys.ARROW_RIGHT, *[Keys.ARROW_RIGHT] * 5)
    press(browser, "a")
    assert browser.title == "Rate reports"
    assert browser.find_elements(By.CSS_SELECTOR, "img") == []
    text = (tmp_path / "rate.html").read_text()
    assert not re.search(r"https?://(?!www\.w3\.org)|\bsrc\s*=\s*[^x]|url\(|@import|<link|connect-src", text)
