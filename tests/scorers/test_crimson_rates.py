"""Rates of errors over many reports."""

import math

from radreward.scorers.crimson import Crimson
from radreward.scorers.crimson_rates import finding_rates

SCORER = Crimson()


def test_rates_of_urgent_findings_are_counted_over_all_reports() -> None:
    references = ["Large pneumothorax.", "Tension pneumothorax.", "Lung abscess. Scarring.", "Clear lungs."]
    candidates = ["Large pneumothorax.", "Clear lungs.", "Lung abscess.", "Lobar collapse on the left. Pneumonia."]
    rates = finding_rates(SCORER.score(references, candidates))
    assert rates == (4, 3 / 4, 2 / 3, 2 / 3)  # errors: missed tension, false collapse and pneumonia; scarring is none


def test_detail_that_changes_care_is_an_error() -> None:
    rates = finding_rates(SCORER.score(["Small left effusion."] * 2, ["Small right effusion.", "Small left effusion."]))
    assert rates.actionable_errors_per_report == 0.5


def test_rates_without_urgent_findings_are_unknown_and_reports_without_a_score_do_not_count() -> None:
    rates = finding_rates(SCORER.score(["Pneumonia.", ""], ["Pneumonia.", "Pneumonia."]))
    assert rates[:2] == (1, 0.0)
    assert all(map(math.isnan, rates[2:]))
    assert math.isnan(finding_rates(SCORER.score([], [])).actionable_errors_per_report)
