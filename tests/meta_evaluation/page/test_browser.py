"""Interaction with the page in Chromium."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from radreward.meta_evaluation.page import write_page
from tests.meta_evaluation.page.conftest import Benchmark

Open = Callable[..., Chrome]
ATTACK = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'><!-- \u2028 </style>"
CONTRASTS = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const light = (colour) => {  // relative luminance of WCAG 2
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
  const [r, g, b] = parts.map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const cell = document.querySelector(".heat td[tabindex]");
const contrasts = [];
for (const tone of ["cool", "warm"]) {
  cell.className = tone;
  for (let heat = 0; heat <= 100; heat += 1) {
    cell.style.setProperty("--heat", heat);
    const {color, backgroundColor} = getComputedStyle(cell);
    const [low, high] = [light(color), light(backgroundColor)].sort((a, b) => a - b);
    contrasts.push((high + 0.05) / (low + 0.05));
  }
}
return contrasts;
"""


@pytest.fixture
def opened(browser: Chrome, page: Path) -> Iterator[Open]:
    """Return a function that opens a page at a size and in a colour scheme; console messages are errors."""

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


def test_header_states_title_size_and_notices(opened: Open) -> None:
    head = part(opened(), "header").text
    assert "Metrics of chest x-ray reports" in head
    assert "120 pairs · 30 cases · 4 systems · 3 raters · 6 metrics" in head
    assert "Synthetic data" in head
    assert "For research only" in head
    assert "2 pairs have the same reference and candidate." in head


def test_ranking_matches_the_results_for_every_selection(opened: Open, benchmark: Benchmark) -> None:
    browser = opened()
    assert (column(browser, "ranking", 0), column(browser, "ranking", 2)) == ranked(
        benchmark, "errors", "pooled", "tau_b"
    )
    choose(browser, "Target", "Rating")
    choose(browser, "Pairs", "Only retrieval")
    choose(browser, "Statistic", "Spearman’s ρ")
    expected = ranked(benchmark, "rating", "system:retrieval", "spearman")
    assert (column(browser, "ranking", 0), column(browser, "ranking", 2)) == expected
    assert "Perplexity failed: returned 3 scores for 4 pairs" in part(browser, "#ranking").text


def test_ranking_shows_inter_rater_agreement(opened: Open, benchmark: Benchmark) -> None:
    results, _ = benchmark
    against = [entry["tau_b"] for entry in results["inter_rater"] if entry["kind"] == "against_mean"]
    assert f"{sum(against) / 3:.2f}" in part(opened(), "#ranking .pinned").text


def test_table_sorts_by_mouse_and_keyboard(opened: Open) -> None:
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


def test_table_undefined_values_are_last_in_both_orders(opened: Open) -> None:
    browser = opened()
    assert column(browser, "ranking", 0)[-1] == "Constant"
    part(browser, "#ranking thead th:nth-child(3) button").click()
    assert column(browser, "ranking", 0)[-1] == "Constant"


def test_filters_select_metrics_and_disagreements(opened: Open, benchmark: Benchmark) -> None:
    browser = opened()
    part(browser, "#ranking input").send_keys("green")
    assert column(browser, "ranking", 0) == ["Green"]
    choose(browser, "Show", "Underrated")
    chips = texts(browser, "#disagreements .chip")
    assert chips
    assert all(chip.startswith("underrated by") for chip in chips)
    choose(browser, "Show", "Overrated and underrated")
    word = next(text for text in texts(browser, "#disagreements .card .report"))
    part(browser, "#disagreements input").send_keys(word)
    assert all(word in card for card in texts(browser, "#disagreements .card"))
    part(browser, "#disagreements input").send_keys(" no report has this")
    assert texts(browser, "#disagreements .card") == []
    assert "0 of 0 matching pairs" in part(browser, "#disagreements [role=status]").text


def test_show_more_moves_the_focus_to_the_first_new_card(opened: Open) -> None:
    browser = opened()
    assert len(texts(browser, "#disagreements .card")) == 8
    browser.execute_script("document.querySelector('#disagreements .more').click()")
    assert len(texts(browser, "#disagreements .card")) == 16
    index = "return [...document.querySelectorAll('#disagreements .card')].indexOf(document.activeElement)"
    assert browser.execute_script(index) == 8


def test_differing_words_are_marked(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    reference, candidate = (
        "No effusion.  Heart size is normal, as before.",
        "Small left effusion. Heart size is NORMAL.",
    )
    write_page(results, [{**row, "reference": reference, "candidate": candidate} for row in rows], tmp_path / "p.html")
    browser = opened(tmp_path / "p.html")
    assert texts(browser, "#disagreements .card:first-child del") == ["No", ", as before"]
    assert texts(browser, "#disagreements .card:first-child ins") == ["Small left"]
    assert texts(browser, "#disagreements .card:first-child .sides .report")[:2] == [reference, candidate]


def test_selected_metric_updates_all_sections_and_keeps_the_focus(opened: Open) -> None:
    browser = opened()
    button = next(e for e in browser.find_elements(By.CSS_SELECTOR, "#ranking .name") if e.text == "Green")
    button.send_keys(Keys.ENTER)
    assert browser.execute_script("return document.activeElement.textContent") == "Green"
    for section in ("scatter", "systems", "disagreements"):
        assert "Green" in part(browser, f"#{section} .lead").text
    assert "Calibration of Green" in part(browser, "#counts").text
    assert "Evidence of Green" in part(browser, "#disagreements .card").text
    assert "matched findings" in part(browser, "#disagreements .card dl").text


def test_matrices_and_charts_show_tooltips_by_keyboard(opened: Open, benchmark: Benchmark) -> None:
    results, _ = benchmark
    browser = opened()
    active = browser.switch_to.active_element
    part(browser, "#significance td[tabindex='0']").send_keys(Keys.ARROW_RIGHT)
    first = ranked(benchmark, "errors", "pooled", "tau_b")[0]
    tooltip = part(browser, "#tooltip").text
    assert tooltip.startswith(f"{first[0]} minus {first[2]}\n")
    entry = next(
        entry
        for entry in results["scorer_comparisons"]
        if entry["target"] == "errors" and {entry["scorer_a"], entry["scorer_b"]} == {"reward-model", "green"}
    )
    assert f"{abs(entry['difference']):+.3f} τ-b" in tooltip
    active = browser.switch_to.active_element
    assert active.get_attribute("aria-describedby") == "tooltip"
    active.send_keys(Keys.ESCAPE)
    assert not part(browser, "#tooltip").is_displayed()
    part(browser, "#scatter .chart").send_keys(Keys.ARROW_RIGHT)
    assert "synthetic-0-" in part(browser, "#tooltip").text


def test_first_tab_skips_to_the_results(opened: Open) -> None:
    browser = opened()
    part(browser, "body").send_keys(Keys.TAB)
    link = browser.switch_to.active_element
    assert link.text == "Skip to the results"
    link.send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "main"


def test_report_text_is_never_markup(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
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


def test_policy_blocks_an_injected_script(opened: Open) -> None:
    browser = opened()
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.hurt = 1'; document.body.append(s)"
    )
    assert browser.execute_script("return window.hurt") is None
    (entry,) = browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert "Content Security Policy" in entry["message"]


@pytest.mark.parametrize("focus", ["Reward model", "Radcliq v1"])
def test_phone_width_has_no_horizontal_scroll(opened: Open, focus: str) -> None:
    browser = opened(width=360)
    choose(browser, "Selected metric", focus)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 360
    box = "const b = document.querySelector('#ranking .interval').getBoundingClientRect(); return [b.width, b.right]"
    width, right = browser.execute_script(box)
    assert width > 80
    assert right <= 360


def test_phone_width_long_words_do_not_scroll(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    long = "x" * 300
    evil = [{**row, "id": long, "reference": long, "candidate": long, "system": long} for row in rows]
    scorers = [{**entry, "title": f"{long}{index}"} for index, entry in enumerate(results["scorers"])]
    data = {**results["data"], "systems": [long], "notes": [long], "files": {long: long}}
    write_page({**results, "title": long, "scorers": scorers, "data": data}, evil, tmp_path / "long.html")
    browser = opened(tmp_path / "long.html", width=360)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 360


def test_dark_scheme_inverts_brightness(opened: Open) -> None:
    def brightness(browser: Chrome, style: str) -> int:
        colour = browser.execute_script(f"return getComputedStyle(document.body).{style}")
        return sum(int(value) for value in colour.removeprefix("rgb(").rstrip(")").split(","))

    light = opened()
    assert brightness(light, "backgroundColor") > brightness(light, "color")
    dark = opened(scheme="dark")
    assert brightness(dark, "backgroundColor") < brightness(dark, "color")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_heatmap_contrast_is_sufficient_on_every_shade(opened: Open, scheme: str) -> None:
    contrasts = opened(scheme=scheme).execute_script(CONTRASTS)
    assert len(contrasts) == 202
    assert min(contrasts) >= 4.5  # minimum of WCAG 2


def test_sections_without_data_state_the_reason(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    empty = (
        *("inter_rater", "scorer_comparisons", "system_means", "system_differences", "system_rank_agreement"),
        *("count_agreement", "preferences", "probes"),
    )
    lean: dict[str, Any] = {**results, **{name: [] for name in empty}}
    lean["scorer_correlations"] = {"names": [], "tau_b": []}
    write_page(lean, rows, tmp_path / "lean.html")
    browser = opened(tmp_path / "lean.html")
    for section in ("significance", "correlation", "raters", "counts", "systems", "preferences", "probes"):
        assert len(part(browser, f"#{section}").text.split("\n")) == 2  # the heading and the reason
    assert "Sensitivity tests" not in texts(browser, "nav a")
    assert column(browser, "ranking", 0)


def test_page_with_preferences_only(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, _ = benchmark
    data = {**results["data"], "pairs": 0, "clusters": 0, "systems": [], "raters": []}
    kept = ("format", "title", "synthetic", "scorers", "settings", "preferences")
    empty: dict[str, Any] = {name: [] for name in results if name not in (*kept, "data")}
    none = {**empty, "scorer_correlations": {"names": [], "tau_b": []}}
    write_page({**{name: results[name] for name in kept}, **none, "data": data}, [], tmp_path / "preferences.html")
    browser = opened(tmp_path / "preferences.html")
    assert column(browser, "preferences", 0)[0] == "Reward model"
    assert "No agreement was computed" in part(browser, "#ranking").text


def test_page_with_failed_scorers_only(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    failed = [entry for entry in results["scorers"] if entry["status"] == "failed"]
    empty: dict[str, Any] = {
        name: [] for name, value in results.items() if isinstance(value, list) and name != "targets"
    }
    none = {**results, **empty, "scorers": failed, "scorer_correlations": {"names": [], "tau_b": []}}
    write_page(none, [{**row, "scores": {"perplexity": None}} for row in rows], tmp_path / "failed.html")
    assert "Perplexity failed: returned 3 scores for 4 pairs" in part(opened(tmp_path / "failed.html"), "#ranking").text


def test_tooltip_follows_the_focus_when_scrolled(opened: Open) -> None:
    browser = opened()
    browser.execute_async_script(
        "document.querySelector('#probes td[tabindex=\"0\"]').focus();"
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[0])))"
    )
    assert browser.execute_script("return scrollY") > 0
    assert part(browser, "#tooltip").text.startswith("Reward model, laterality")
    position = "return document.querySelector(arguments[0]).getBoundingClientRect().y"
    top, bottom = (browser.execute_script(position, name) for name in ("#probes td[tabindex='0']", "#tooltip"))
    assert abs(top - bottom) < 120


def test_sampled_points_are_stated(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    many = [{**row, "id": f"{row['id']} {copy}"} for copy in range(18) for row in rows]
    write_page(results, many, tmp_path / "many.html")
    browser = opened(tmp_path / "many.html")
    assert part(browser, "#scatter .lead").text.startswith("A random sample of 2,000 of 2,160 pairs.")
    assert "20 largest differences of 2,160 pairs" in part(browser, "#disagreements [role=status]").text


def test_bars_and_table_cells_show_tooltips_by_keyboard(opened: Open) -> None:
    browser = opened()
    part(browser, "#criteria td[tabindex='0']").send_keys(Keys.ARROW_DOWN)
    assert part(browser, "#tooltip").text.startswith(f"{column(browser, 'ranking', 0)[1]}, False prediction: ")
    part(browser, "#preferences td[tabindex='0']").send_keys(Keys.ARROW_RIGHT)
    assert "confidence 5–7" in part(browser, "#tooltip").text


def test_card_shows_counts_of_raters_and_metric(opened: Open, benchmark: Benchmark) -> None:
    _, rows = benchmark
    browser = opened()
    row = next(row for row in rows if row["id"] == texts(browser, "#disagreements .card h3")[0])
    rated = {name.removeprefix("criterion:"): value for name, value in row["targets"].items() if ":" in name}
    listed = ", ".join(f"{tag.replace('_', ' ')} {value:g}" for tag, value in rated.items() if value)
    assert f"Raters counted {listed or 'no errors'}." in texts(browser, "#disagreements .card")[0]
    lines = texts(browser, "#disagreements .card:first-of-type .parts tbody tr")
    own = row["error_counts"]["reward-model"]
    assert [line.split() for line in lines] == [
        [
            *tag.split("_"),
            f"{rated[tag]:g}",
            f"{own[tag]:.2f}",
            f"{-own[tag]:.2f}".replace("-", "−") if round(own[tag], 2) else "0.00",
        ]
        for tag in rated
    ]
