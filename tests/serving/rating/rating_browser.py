"""Operations on the page of `radreward rate` in a browser."""

import json
from pathlib import Path
from typing import Any

from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.meta_evaluation.page.browser import part, texts


def press(browser: Chrome, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def press_control(browser: Chrome, key: str) -> None:
    ActionChains(browser).key_down(Keys.CONTROL).send_keys(key).key_up(Keys.CONTROL).perform()


def start(browser: Chrome, rater: str) -> None:
    """Enter a name on the first screen."""
    part(browser, "[data-key=rater]").send_keys(rater, Keys.ENTER)
    assert part(browser, ".rater").text == rater


def change_rater(browser: Chrome) -> None:
    browser.find_element(By.XPATH, "//button[.='Change rater']").click()


def status(browser: Chrome) -> str:
    return part(browser, ".progress").text


def candidate(browser: Chrome) -> str:
    return part(browser, "[data-key=candidate]").text


def cases_seen(browser: Chrome) -> list[str]:
    """Return the candidates in the order of the rater, and go back to the first case."""
    count = len(texts(browser, ".case-list .case"))
    seen = []
    for number in range(count):
        part(browser, f"[data-key=case{number}]").click()
        seen.append(candidate(browser))
    part(browser, "[data-key=case0]").click()
    return seen


def go_to(browser: Chrome, text: str) -> None:
    """Show the case whose candidate starts with a text."""
    number = [seen.startswith(text) for seen in cases_seen(browser)].index(True)
    part(browser, f"[data-key=case{number}]").click()


def word(browser: Chrome, side: str, number: int) -> WebElement:
    return part(browser, f"[data-key={side}] .word[data-position='{number}']")


def tap(browser: Chrome, *words: WebElement) -> None:
    """Touch one word, or the first word and swipe over the others."""

    def send(kind: str, points: list[dict[str, float]]) -> None:
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", words[0])
    center = "const box = arguments[0].getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]"
    points = [dict(zip("xy", browser.execute_script(center, entry), strict=True)) for entry in words]
    send("touchStart", points[:1])
    for point in points[1:]:
        send("touchMove", [point])
    send("touchEnd", [])


def selected(browser: Chrome) -> str:
    return part(browser, ".selected-text").text


def export_ratings(browser: Chrome, path: Path) -> dict[str, Any]:
    """Export by keyboard, wait for the file in the folder of downloads, and return its content."""
    press_control(browser, "s")
    # Chromium creates an empty file of this name first, and moves the content to it.
    WebDriverWait(browser, 30).until(lambda _: path.exists() and path.stat().st_size)
    content: dict[str, Any] = json.loads(path.read_text())
    return content
