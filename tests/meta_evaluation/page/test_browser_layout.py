"""Widths, colour schemes, missing data and untrusted text of the page in Chromium."""

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from radreward.meta_evaluation.page.write_page import write_page
from tests.meta_evaluation.page.browser import Benchmark, Open, choose, column, part, texts

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


@pytest.mark.parametrize("width", [360, 1280])
def test_long_words_do_not_scroll(opened: Open, benchmark: Benchmark, tmp_path: Path, width: int) -> None:
    results, rows = benchmark
    long = "x" * 300
    evil = [{**row, "id": long, "reference": long, "candidate": long, "system": long} for row in rows]
    scorers = [{**entry, "title": f"{long}{index}"} for index, entry in enumerate(results["scorers"])]
    data = {**results["data"], "systems": [long], "notes": [long], "files": {long: long}}
    write_page({**results, "title": long, "scorers": scorers, "data": data}, evil, tmp_path / "long.html")
    browser = opened(tmp_path / "long.html", width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


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


def test_sections_without_data_are_left_out_with_a_reason(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
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
        assert not part(browser, f"#{section}").is_displayed()
    assert "The data have no preferences between candidates." in part(browser, "#data").text
    assert "Sensitivity tests" not in texts(browser, "nav a")
    assert column(browser, "ranking", 0)


def test_page_with_preferences_only(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, _ = benchmark
    data = {**results["data"], "pairs": 0, "clusters": 0, "systems": [], "raters": []}
    common = ("format", "title", "synthetic", "scorers", "settings", "preferences")
    empty: dict[str, Any] = {name: [] for name in results if name not in (*common, "data")}
    none = {**empty, "scorer_correlations": {"names": [], "tau_b": []}}
    write_page({**{name: results[name] for name in common}, **none, "data": data}, [], tmp_path / "preferences.html")
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


def test_sampled_points_are_stated(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    many = [{**row, "id": f"{row['id']} {copy}"} for copy in range(18) for row in rows]
    write_page(results, many, tmp_path / "many.html")
    browser = opened(tmp_path / "many.html")
    assert part(browser, "#scatter .lead").text.startswith("A random sample of 2,000 of 2,160 pairs.")
    assert "20 largest differences of 2,160 pairs" in part(browser, "#disagreements [role=status]").text


def test_evidence_table_breaks_no_word_and_has_no_offsets(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    entity = {"name": "effusion", "start": 4, "end": 12}
    entry = {
        "side": "candidate",
        "entity": entity,
        "statement": "There is a large left pleural effusion.",
        "start": 0,
        "end": 39,
    }
    evidence = {name: [entry | {f"criterion {letter}": 0.25 for letter in "abcdef"}] for name in rows[0]["scores"]}
    write_page(results, [{**row, "evidence": evidence} for row in rows], tmp_path / "evidence.html")
    for width in (1200, 400):
        browser = opened(tmp_path / "evidence.html", width=width)
        table = part(browser, "#disagreements details table")
        assert "start" not in table.text
        cell = table.find_element(By.CSS_SELECTOR, "td.side")
        text = cell.find_element(By.TAG_NAME, "span")
        nested = table.find_element(By.CSS_SELECTOR, "dd span")
        for word in (text, nested):
            assert len(browser.execute_script("return [...arguments[0].getClientRects()]", word)) == 1
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_few_cases_are_stated_in_place_of_tests(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    note = "4 cases cannot show a difference (the smallest possible p is 0.125)"
    targets = [
        {**entry, "notes": ["not every rater rated every pair"], "power_note": note} for entry in results["targets"]
    ]
    write_page({**results, "targets": targets}, rows, tmp_path / "few.html")
    browser = opened(tmp_path / "few.html")
    assert f"{note}." in part(browser, "#ranking .takeaway").text
    assert "significant" not in part(browser, "#ranking .takeaway").text
    assert f"{note}." in part(browser, "#significance").text
    assert "Not every rater rated every pair." in texts(browser, "#ranking .notice")


def test_dots_of_few_pairs_are_large(opened: Open, benchmark: Benchmark, tmp_path: Path) -> None:
    results, rows = benchmark
    write_page(results, rows[:12], tmp_path / "few.html")
    width = "return getComputedStyle(document.querySelector('#scatter .dots')).strokeWidth"
    assert opened(tmp_path / "few.html").execute_script(width) == "9px"
    assert opened().execute_script(width) == "5.5px"
