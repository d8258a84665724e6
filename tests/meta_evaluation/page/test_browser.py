"""The page as people use it, in Chromium."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from radreward.meta_evaluation.page import write_page
from tests.meta_evaluation.page.conftest import Found

Open = Callable[..., Chrome]
ATTACK = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'><!-- \u2028 </style>"
CONTRASTS = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const light = (colour) => {  // relative luminance, as WCAG 2 has it
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
  const [r, g, b] = parts.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const cell = document.querySelector(".heat td[tabindex]");
const found = [];
for (const tone of ["cool", "warm"]) {
  cell.className = tone;
  for (let heat = 0; heat <= 100; heat += 1) {
    cell.style.setProperty("--heat", heat);
    const {color, backgroundColor} = getComputedStyle(cell);
    const [low, high] = [light(color), light(backgroundColor)].sort((a, b) => a - b);
    found.push((high + 0.05) / (low + 0.05));
  }
}
return found;
"""


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


def part(browser: Chrome, selector: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, selector)


def texts(browser: Chrome, selector: str) -> list[str]:
    every: list[str] = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((node) => node.innerText)", selector
    )
    return every


def column(browser: Chrome, section: str, place: int) -> list[str]:
    cells = texts(browser, f"#{section} table.sortable tbody:not(.pinned) tr > :nth-child({place + 1})")
    return [cell.split("\n")[0] for cell in cells]


def choose(browser: Chrome, label: str, option: str) -> None:
    found = browser.find_element(By.XPATH, f"//label[span[text()='{label}']]/select")
    Select(found).select_by_visible_text(option)


def ranked(found: Found, target: str, scope: str, statistic: str) -> tuple[list[str], list[str]]:
    """Titles and figures, as the ranking ought to have them."""
    results, _ = found
    titles = {entry["name"]: entry["title"] for entry in results["scorers"]}
    value = {
        titles[entry["scorer"]]: entry[statistic]["value"]
        for entry in results["agreement"]
        if (entry["target"], entry["scope"]) == (target, scope)
    }
    order = sorted(value, key=lambda title: -value[title] if value[title] is not None else 9)
    return order, ["–" if value[name] is None else f"{value[name]:.2f}".replace("-", "−") for name in order]


def test_says_what_it_is(opened: Open) -> None:
    head = part(opened(), "header").text
    assert "Metrics of chest x-ray reports" in head
    assert "120 pairs · 30 cases · 4 systems · 3 raters · 6 metrics" in head
    assert "Synthetic data" in head
    assert "Scores are for research" in head
    assert "2 pairs have the same reference and candidate." in head


def test_ranking_is_that_of_the_results_for_every_choice(opened: Open, found: Found) -> None:
    browser = opened()
    assert (column(browser, "ranking", 0), column(browser, "ranking", 2)) == ranked(found, "errors", "pooled", "tau_b")
    choose(browser, "People’s judgement", "Rating")
    choose(browser, "Pairs", "Only retrieval")
    choose(browser, "Statistic", "Spearman’s ρ")
    expected = ranked(found, "rating", "system:retrieval", "spearman")
    assert (column(browser, "ranking", 0), column(browser, "ranking", 2)) == expected
    assert "Perplexity failed: returned 3 scores for 4 pairs" in part(browser, "#ranking").text


def test_raters_are_beside_the_metrics(opened: Open, found: Found) -> None:
    results, _ = found
    against = [entry["tau_b"] for entry in results["inter_rater"] if entry["kind"] == "against_others"]
    assert f"{sum(against) / 3:.2f}" in part(opened(), "#ranking .pinned").text


def test_sorts_by_mouse_and_by_keyboard(opened: Open) -> None:
    browser = opened()
    head = part(browser, "#ranking thead th")
    head.find_element(By.TAG_NAME, "button").click()
    names = column(browser, "ranking", 0)
    assert names == sorted(names)
    assert head.get_attribute("aria-sort") == "ascending"
    head.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert column(browser, "ranking", 0) == sorted(names, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    assert browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_what_is_not_defined_stays_last_in_either_order(opened: Open) -> None:
    browser = opened()
    assert column(browser, "ranking", 0)[-1] == "Constant"
    part(browser, "#ranking thead th:nth-child(3) button").click()
    assert column(browser, "ranking", 0)[-1] == "Constant"


def test_filters_metrics_and_disagreements(opened: Open, found: Found) -> None:
    browser = opened()
    part(browser, "#ranking input").send_keys("green")
    assert column(browser, "ranking", 0) == ["Green"]
    choose(browser, "Show", "Too harsh")
    chips = texts(browser, "#disagreements .chip")
    assert chips
    assert all(chip.startswith("too harsh by") for chip in chips)
    choose(browser, "Show", "Too kind and too harsh")
    word = next(text for text in texts(browser, "#disagreements .card .report"))
    part(browser, "#disagreements input").send_keys(word)
    assert all(word in card for card in texts(browser, "#disagreements .card"))
    part(browser, "#disagreements input").send_keys(" no report has this")
    assert texts(browser, "#disagreements .card") == []
    assert "0 shown of 0 pairs that fit" in part(browser, "#disagreements [role=status]").text


def test_more_disagreements_on_request_take_the_focus(opened: Open) -> None:
    browser = opened()
    assert len(texts(browser, "#disagreements .card")) == 8
    browser.execute_script("document.querySelector('#disagreements .more').click()")
    assert len(texts(browser, "#disagreements .card")) == 16
    place = "return [...document.querySelectorAll('#disagreements .card')].indexOf(document.activeElement)"
    assert browser.execute_script(place) == 8


def test_words_that_differ_are_marked(opened: Open, found: Found, tmp_path: Path) -> None:
    results, rows = found
    reference, candidate = (
        "No effusion.  Heart size is normal, as before.",
        "Small left effusion. Heart size is NORMAL.",
    )
    write_page(results, [{**row, "reference": reference, "candidate": candidate} for row in rows], tmp_path / "p.html")
    browser = opened(tmp_path / "p.html")
    assert texts(browser, "#disagreements .card:first-child del") == ["No", ", as before"]
    assert texts(browser, "#disagreements .card:first-child ins") == ["Small left"]
    assert texts(browser, "#disagreements .card:first-child .sides .report")[:2] == [reference, candidate]


def test_a_metric_in_focus_is_followed_everywhere_and_keeps_the_keyboard(opened: Open) -> None:
    browser = opened()
    button = next(e for e in browser.find_elements(By.CSS_SELECTOR, "#ranking .name") if e.text == "Green")
    button.send_keys(Keys.ENTER)
    assert browser.execute_script("return document.activeElement.textContent") == "Green"
    for section in ("scatter", "systems", "disagreements"):
        assert "Green" in part(browser, f"#{section} .lead").text
    assert "Calibration of Green" in part(browser, "#counts").text
    assert "Evidence of Green" in part(browser, "#disagreements .card").text
    assert "matched findings" in part(browser, "#disagreements .card dl").text


def test_matrices_charts_and_tooltips_by_keyboard(opened: Open, found: Found) -> None:
    results, _ = found
    browser = opened()
    active = browser.switch_to.active_element
    part(browser, "#significance td[tabindex='0']").send_keys(Keys.ARROW_RIGHT)
    first = ranked(found, "errors", "pooled", "tau_b")[0]
    told = part(browser, "#tip").text
    assert told.startswith(f"{first[0]} less {first[2]}\n")
    entry = next(
        e for e in results["paired"] if e["target"] == "errors" and {e["one"], e["other"]} == {"reward-model", "green"}
    )
    assert f"{abs(entry['difference']):+.3f} τ-b" in told
    active = browser.switch_to.active_element
    assert active.get_attribute("aria-describedby") == "tip"
    active.send_keys(Keys.ESCAPE)
    assert not part(browser, "#tip").is_displayed()
    part(browser, "#scatter .chart").send_keys(Keys.ARROW_RIGHT)
    assert "synthetic-0-" in part(browser, "#tip").text


def test_the_first_key_leads_past_the_head(opened: Open) -> None:
    browser = opened()
    part(browser, "body").send_keys(Keys.TAB)
    link = browser.switch_to.active_element
    assert link.text == "Skip to the results"
    link.send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "main"


def test_text_of_reports_stays_text(opened: Open, found: Found, tmp_path: Path) -> None:
    results, rows = found
    evil = [
        {
            **row,
            "id": ATTACK + row["id"],
            "candidate": ATTACK + row["candidate"],
            "evidence": {"reward-model": {ATTACK: ATTACK}},
        }
        for row in rows
    ]
    scorers = [{**entry, "title": ATTACK + entry["title"]} for entry in results["scorers"]]
    write_page({**results, "title": ATTACK, "scorers": scorers}, evil, tmp_path / "evil.html")
    browser = opened(tmp_path / "evil.html")
    assert browser.title.startswith("</script><script>")
    card = part(browser, "#disagreements .card")
    assert card.text.count("</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'><!--") >= 4
    assert browser.execute_script("return window.hurt") is None
    assert browser.find_elements(By.CSS_SELECTOR, "img, #disagreements script, #disagreements style") == []
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 2


def test_the_policy_stops_a_script_that_got_in(opened: Open) -> None:
    browser = opened()
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.hurt = 1'; document.body.append(s)"
    )
    assert browser.execute_script("return window.hurt") is None
    (entry,) = browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert "Content Security Policy" in entry["message"]


@pytest.mark.parametrize("focus", ["Reward model", "Radcliq v1"])
def test_phone_has_no_horizontal_scroll(opened: Open, focus: str) -> None:
    browser = opened(width=360)
    choose(browser, "Metric in focus", focus)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 360
    box = "const b = document.querySelector('#ranking .interval').getBoundingClientRect(); return [b.width, b.right]"
    width, right = browser.execute_script(box)
    assert width > 80
    assert right <= 360


def test_long_words_do_not_widen_the_phone(opened: Open, found: Found, tmp_path: Path) -> None:
    results, rows = found
    long = "x" * 300
    evil = [{**row, "id": long, "reference": long, "candidate": long, "system": long} for row in rows]
    scorers = [{**entry, "title": f"{long}{place}"} for place, entry in enumerate(results["scorers"])]
    data = {**results["data"], "systems": [long], "notes": [long], "files": {long: long}}
    write_page({**results, "title": long, "scorers": scorers, "data": data}, evil, tmp_path / "long.html")
    browser = opened(tmp_path / "long.html", width=360)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 360


def test_dark_mode(opened: Open) -> None:
    def brightness(browser: Chrome, what: str) -> int:
        colour = browser.execute_script(f"return getComputedStyle(document.body).{what}")
        return sum(int(value) for value in colour.removeprefix("rgb(").rstrip(")").split(","))

    light = opened()
    assert brightness(light, "backgroundColor") > brightness(light, "color")
    dark = opened(scheme="dark")
    assert brightness(dark, "backgroundColor") < brightness(dark, "color")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_can_be_read_on_every_shade(opened: Open, scheme: str) -> None:
    contrasts = opened(scheme=scheme).execute_script(CONTRASTS)
    assert len(contrasts) == 202
    assert min(contrasts) >= 4.5  # what WCAG 2 asks for


def test_sections_without_data_are_one_line(opened: Open, found: Found, tmp_path: Path) -> None:
    results, rows = found
    nothing = ("inter_rater", "paired", "systems", "system_pairs", "system_ranks", "counts", "preferences", "probes")
    lean: dict[str, Any] = {**results, **{name: [] for name in nothing}, "between_scorers": {"names": [], "tau_b": []}}
    write_page(lean, rows, tmp_path / "lean.html")
    browser = opened(tmp_path / "lean.html")
    for section in ("significance", "between", "people", "counts", "systems", "preferences", "probes"):
        assert len(part(browser, f"#{section}").text.split("\n")) == 2  # the heading and why there is nothing
    assert "Probes" not in texts(browser, "nav a")
    assert column(browser, "ranking", 0)


def test_preferences_alone_are_a_page(opened: Open, found: Found, tmp_path: Path) -> None:
    results, _ = found
    data = {**results["data"], "pairs": 0, "cases": 0, "systems": [], "raters": []}
    kept = ("format", "title", "synthetic", "scorers", "settings", "preferences")
    empty: dict[str, Any] = {name: [] for name in results if name not in (*kept, "data")}
    none = {**empty, "between_scorers": {"names": [], "tau_b": []}}
    write_page({**{name: results[name] for name in kept}, **none, "data": data}, [], tmp_path / "preferences.html")
    browser = opened(tmp_path / "preferences.html")
    assert column(browser, "preferences", 0)[0] == "Reward model"
    assert "No agreement was computed" in part(browser, "#ranking").text


def test_nothing_worked_is_still_told(opened: Open, found: Found, tmp_path: Path) -> None:
    results, rows = found
    failed = [entry for entry in results["scorers"] if entry["status"] == "failed"]
    empty: dict[str, Any] = {
        name: [] for name, value in results.items() if isinstance(value, list) and name != "targets"
    }
    none = {**results, **empty, "scorers": failed, "between_scorers": {"names": [], "tau_b": []}}
    write_page(none, [{**row, "scores": {"perplexity": None}} for row in rows], tmp_path / "failed.html")
    assert "Perplexity failed: returned 3 scores for 4 pairs" in part(opened(tmp_path / "failed.html"), "#ranking").text


def test_a_tooltip_stays_with_the_focus_where_that_scrolls(opened: Open) -> None:
    browser = opened()
    browser.execute_async_script(
        "document.querySelector('#probes td[tabindex=\"0\"]').focus();"
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[0])))"
    )
    assert browser.execute_script("return scrollY") > 0
    assert part(browser, "#tip").text.startswith("Reward model, laterality")
    place = "return document.querySelector(arguments[0]).getBoundingClientRect().y"
    top, bottom = (browser.execute_script(place, name) for name in ("#probes td[tabindex='0']", "#tip"))
    assert abs(top - bottom) < 120


def test_points_left_out_are_told(opened: Open, found: Found, tmp_path: Path) -> None:
    results, rows = found
    many = [{**row, "id": f"{row['id']} {copy}"} for copy in range(18) for row in rows]
    write_page(results, many, tmp_path / "many.html")
    browser = opened(tmp_path / "many.html")
    assert part(browser, "#scatter .lead").text.startswith("2,000 of 2,160 pairs shown, drawn at random.")
    assert "20 largest differences of 2,160 pairs" in part(browser, "#disagreements [role=status]").text


def test_bars_and_cells_of_tables_tell_by_keyboard(opened: Open) -> None:
    browser = opened()
    part(browser, "#criteria td[tabindex='0']").send_keys(Keys.ARROW_DOWN)
    assert part(browser, "#tip").text.startswith(f"{column(browser, 'ranking', 0)[1]}, False prediction: ")
    part(browser, "#preferences td[tabindex='0']").send_keys(Keys.ARROW_RIGHT)
    assert "confidence 5–7" in part(browser, "#tip").text


def test_what_people_counted_is_beside_what_the_metric_counted(opened: Open, found: Found) -> None:
    _, rows = found
    browser = opened()
    row = next(row for row in rows if row["id"] == texts(browser, "#disagreements .card h3")[0])
    people = {name.removeprefix("criterion:"): value for name, value in row["targets"].items() if ":" in name}
    listed = ", ".join(f"{tag.replace('_', ' ')} {value:g}" for tag, value in people.items() if value)
    assert f"People counted {listed or 'no errors'}." in texts(browser, "#disagreements .card")[0]
    lines = texts(browser, "#disagreements .card:first-of-type .parts tbody tr")
    own = row["counts"]["reward-model"]
    assert [line.split() for line in lines] == [
        [
            *tag.split("_"),
            f"{people[tag]:g}",
            f"{own[tag]:.2f}",
            f"{-own[tag]:.2f}".replace("-", "−") if round(own[tag], 2) else "0.00",
        ]
        for tag in people
    ]
