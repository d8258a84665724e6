"""Interaction with the page in Chromium."""

from pathlib import Path

from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

from radreward.meta_evaluation.page.write_page import write_page
from tests.meta_evaluation.page.browser import Benchmark, Open, choose, column, part, ranked, texts


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
    shown = float(tooltip.split("\n")[1].split(" ")[0])
    assert abs(shown - abs(entry["difference"])) < 0.0006  # rounded to four digits, then to three
    active = browser.switch_to.active_element
    assert active.get_attribute("aria-describedby") == "tooltip"
    active.send_keys(Keys.ESCAPE)
    assert not part(browser, "#tooltip").is_displayed()
    part(browser, "#scatter .chart").send_keys(Keys.ARROW_RIGHT)
    assert "synthetic-0-" in part(browser, "#tooltip").text


def test_tooltip_of_a_focused_chart_survives_scrolling(opened: Open) -> None:
    browser = opened()
    part(browser, "#scatter .chart").send_keys(Keys.ARROW_RIGHT)
    browser.execute_script("scrollBy(0, 40)")
    # A browser dispatches `scroll` in the frame after the scrolling.
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert "synthetic-0-" in part(browser, "#tooltip").text


def test_first_tab_skips_to_the_results(opened: Open) -> None:
    browser = opened()
    part(browser, "body").send_keys(Keys.TAB)
    link = browser.switch_to.active_element
    assert link.text == "Skip to the results"
    link.send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "main"


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
