"""Helpers that read and operate the page in a browser."""

from collections.abc import Callable
from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

Benchmark = tuple[dict[str, Any], list[dict[str, Any]]]
Open = Callable[..., Chrome]


def part(browser: Chrome, selector: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, selector)


def texts(browser: Chrome, selector: str) -> list[str]:
    inner_texts: list[str] = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((node) => node.innerText)", selector
    )
    return inner_texts


def column(browser: Chrome, section: str, index: int) -> list[str]:
    cells = texts(browser, f"#{section} table.sortable tbody:not(.pinned) tr > :nth-child({index + 1})")
    return [cell.split("\n")[0] for cell in cells]


def choose(browser: Chrome, label: str, option: str) -> None:
    element = browser.find_element(By.XPATH, f"//label[span[text()='{label}']]/select")
    Select(element).select_by_visible_text(option)


def ranked(benchmark: Benchmark, target: str, scope: str, statistic: str) -> tuple[list[str], list[str]]:
    """Return the expected titles and values of the ranking."""
    results, _ = benchmark
    titles = {entry["name"]: entry["title"] for entry in results["scorers"]}
    value = {
        titles[entry["scorer"]]: entry[statistic]["value"]
        for entry in results["agreement"]
        if (entry["target"], entry["scope"]) == (target, scope)
    }
    order = sorted(value, key=lambda title: -value[title] if value[title] is not None else 9)
    return order, ["–" if value[name] is None else f"{value[name]:.2f}".replace("-", "−") for name in order]


def wait_until_ready(browser: Chrome) -> None:
    """Wait until the scripts of a page have run; on a busy machine, that is later than its load event."""
    script = "return document.documentElement.dataset.ready"
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(script) == "true")
