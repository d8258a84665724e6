"""The page of the service in Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.meta_evaluation.page.browser import choose, part, texts, wait_until_ready
from tests.serving.conftest import Service

MARKUP = '<img src=x onerror="document.title=1"></textarea><script>document.title=1</script> \U0001fac1'


@pytest.fixture
def opened(browser: Chrome, service: Service) -> Iterator[Chrome]:
    """Return the page without reports; console messages are errors."""
    browser.get(f"http://127.0.0.1:{service.port}/")
    wait_until_ready(browser)
    part(browser, "input[value=Failing]").click()
    yield browser
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def compare(browser: Chrome, reference: str, candidate: str) -> None:
    """Fill both fields and score by keyboard."""
    for name, text in (("reference", reference), ("candidate", candidate)):
        browser.execute_script("arguments[0].value = arguments[1]", part(browser, f"[name={name}]"), text)
    part(browser, "[name=candidate]").send_keys(Keys.CONTROL, Keys.ENTER)
    WebDriverWait(browser, 60).until(lambda _: part(browser, "button.primary").is_enabled())


def marked(browser: Chrome, side: int) -> list[tuple[str, str]]:
    found = part(browser, f"#result .sides > :nth-child({side})").find_elements(By.CSS_SELECTOR, "mark, ins, del")
    return [(entry.get_attribute("class") or "", entry.text) for entry in found]


def test_page_marks_findings_in_both_reports(opened: Chrome, service: Service) -> None:
    reference, candidate = "Rib fracture. No edema.", "No edema. Small left effusion."
    compare(opened, reference, candidate)
    choose(opened, "Marked by", "Sentence evaluation")
    assert marked(opened, 1) == [("missed", "Rib fracture."), ("matched", "No edema.")]
    assert marked(opened, 2) == [("matched", "No edema."), ("invented", "Small left effusion.")]
    rows = texts(opened, ".findings tbody tr")
    assert rows == [
        "Invented\t–\tSmall left effusion.",
        "Missed\tRib fracture.\t–",
        "Matched\tNo edema.\tNo edema.",
    ]
    choose(opened, "Marked by", "Words that differ")
    assert [text for _, text in marked(opened, 1)] == ["Rib fracture."]
    scores = service.score(pairs=[{"reference": reference, "candidate": candidate}], models=["er2score", "ratescore"])
    totals = [entry["total"] for entry in scores.body["pairs"][0]["scores"].values()]
    assert texts(opened, ".scores .total")[:2] == [f"{total:.2f}".replace("-", "−") for total in totals]


def test_page_explains_a_contradiction_and_the_total(opened: Chrome, service: Service) -> None:
    pair = {"reference": "No pneumothorax. Small effusion.", "candidate": "Right pneumothorax. Large effusion."}
    compare(opened, *pair.values())
    choose(opened, "Marked by", "ER²Score")
    assert texts(opened, ".findings tbody tr") == [
        "Contradicted\tNo pneumothorax.\tRight pneumothorax.\tsignificant false prediction",
        "Differs\tSmall effusion.\tLarge effusion.\tsignificant incorrect severity",
    ]
    assert [kind for side in (1, 2) for kind, _ in marked(opened, side)] == ["contradicted", "differs"] * 2
    choose(opened, "Marked by", "Sentence evaluation")
    assert texts(opened, ".findings tbody tr") == [
        "Contradicted\tNo pneumothorax.\tRight pneumothorax.\t–",
        "Differs\tSmall effusion.\tLarge effusion.\tseverity",
    ]
    scores = service.score(pairs=[pair], models=["er2score"]).body["pairs"][0]["scores"]["er2score"]
    rows = [row.split("\t") for row in texts(opened, ".sum tbody tr")]
    assert rows[-1][0].endswith("other criteria")
    points = [float(points.replace("−", "-")) for *_, points in rows]
    assert sum(points) == pytest.approx(scores["total"], abs=0.005 * len(rows))
    listed = {name.replace(" ", "_"): [float(count), float(weight)] for name, count, weight, _ in rows[:-1]}
    assert listed["significant_false_prediction"][1] == 1
    for name, (count, _) in listed.items():
        assert count == pytest.approx(scores["error_counts"][name], abs=0.005)
    total = f"{scores['total']:.2f}".replace("-", "−")
    assert texts(opened, ".sum tfoot tr") == [f"Total\t–\t–\t{total}"]


def test_page_shows_reports_as_text(opened: Chrome) -> None:
    title = opened.title
    compare(opened, f"No edema. {MARKUP}", f"No edema. Rib fracture. {MARKUP}")
    assert opened.title == title
    choose(opened, "Marked by", "Sentence evaluation")
    assert "onerror" in part(opened, "#result .sides").text
    assert opened.find_elements(By.CSS_SELECTOR, "#result img") == []
    assert ("matched", "No edema.") in marked(opened, 1)


def test_page_shows_status_of_a_pair_without_score(opened: Chrome) -> None:
    compare(opened, "No edema.", "I cannot help with that.")
    assert "no finding and no normal statement recognised in the candidate" in part(opened, ".scores").text


def test_page_shows_the_error_of_a_metric(browser: Chrome, service: Service) -> None:
    browser.get(f"http://127.0.0.1:{service.port}/")
    compare(browser, "No edema.", "No edema.")
    assert "Failing: Expected scores but the metric failed" in part(browser, "[role=status]").text
    assert not part(browser, "#result").is_displayed()
    browser.get_log("browser")  # type: ignore[no-untyped-call] # the answer with status 500


def test_page_loads_a_dropped_file_and_fits_a_phone(opened: Chrome, tmp_path: Path) -> None:
    opened.execute_script(
        "const data = new DataTransfer(); data.items.add(new File([arguments[0]], 'a.txt'));"
        "document.querySelector('[name=reference]').dispatchEvent("
        "  new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))",
        "Rib fracture.",
    )
    field = part(opened, "[name=reference]")
    WebDriverWait(opened, 10).until(lambda _: field.get_attribute("value") == "Rib fracture.")
    compare(opened, "Rib fracture.", "Clear lungs.")
    size = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert opened.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_table_of_findings_fits_a_phone(opened: Chrome) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    compare(opened, "No pneumothorax. Small left effusion.", "Right pneumothorax. Mild cardiomegaly.")
    choose(opened, "Marked by", "ER²Score")
    table = part(opened, ".findings")
    width = opened.execute_script("return [arguments[0].scrollWidth, arguments[0].parentElement.clientWidth]", table)
    lines = opened.execute_script(
        "const range = document.createRange();"
        "return [...document.querySelectorAll('.findings th')].map((cell) => {"
        "  range.selectNodeContents(cell); return range.getClientRects().length; })"
    )
    opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width[0] <= width[1], width
    assert set(lines) == {1}  # no title of a column or kind of finding is broken within its word


def test_page_stores_nothing(opened: Chrome) -> None:
    compare(opened, "Rib fracture.", "Clear lungs.")
    assert opened.execute_script("return [document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]


def test_api_page_lists_requests_fields_and_answers(browser: Chrome, service: Service) -> None:
    browser.get(f"http://127.0.0.1:{service.port}/docs")
    wait_until_ready(browser)
    document = service.request("GET", "/openapi.json").body
    assert texts(browser, ".operation h2") == ["GET /health", "GET /models", "POST /score"]
    assert len(texts(browser, ".operation:nth-of-type(3) tbody tr")) == len(
        document["paths"]["/score"]["post"]["responses"]
    )
    rows = texts(browser, "#PairRequest tbody tr")
    assert rows[0].split("\t")[:3] == ["reference", "string", "required"]
    assert [row.split("\t")[0] for row in rows] == list(document["components"]["schemas"]["PairRequest"]["properties"])
    assert part(browser, "a[href='#PairRequest']").text == "PairRequest"
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
