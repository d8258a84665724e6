"""Tests of clinical significance: the published table, its details, and patients that change a level."""

from itertools import product

import pytest

from radreward.text.facts import Change, Fact
from radreward.text.findings import FINDINGS, URGENCIES, Urgency, means_same_care
from radreward.text.locations import LOCATIONS
from radreward.text.patient_context import PatientContext
from radreward.text.severity import SEVERITY_WORDS
from radreward.text.significance import (
    _SECTIONS,
    patient_level,
    patient_weight,
    significance_level,
    significance_weight,
)

CHANGES: tuple[Change, ...] = ("new", "worse", "better", "stable", "resolved")


@pytest.mark.parametrize(
    ("fact", "level"),
    [
        (Fact("pneumothorax"), "urgent"),
        (Fact("tension"), "urgent"),
        (Fact("pneumothorax", severity="mild"), "actionable"),
        (Fact("pneumothorax", "uncertain"), "urgent"),
        (Fact("pneumomediastinum"), "urgent"),
        (Fact("freeair"), "urgent"),
        (Fact("widemed"), "urgent"),
        (Fact("shift"), "urgent"),
        (Fact("foreign"), "urgent"),
        (Fact("pericardial", severity="severe"), "urgent"),
        (Fact("pericardial", severity="mild"), "actionable"),
        (Fact("cardiomegaly", severity="severe"), "urgent"),
        (Fact("cardiomegaly", severity="moderate"), "actionable"),
        (Fact("cardiomegaly"), "actionable"),
        (Fact("ettlow"), "urgent"),
        (Fact("ngtmal"), "urgent"),
        (Fact("effusion", severity="moderate"), "actionable"),
        (Fact("effusion", severity="mild"), "not actionable"),
        (Fact("nodule"), "actionable"),
        (Fact("mass"), "actionable"),
        (Fact("consolidation"), "actionable"),
        (Fact("edema"), "actionable"),
        (Fact("congestion"), "actionable"),
        (Fact("interstitial"), "actionable"),
        (Fact("peribronchial"), "actionable"),
        (Fact("ribfx"), "actionable"),
        (Fact("adenopathy"), "actionable"),
        (Fact("atelectasis"), "not actionable"),
        (Fact("scar"), "not actionable"),
        (Fact("granuloma"), "not actionable"),
        (Fact("thickening"), "not actionable"),
        (Fact("osteopenia"), "not actionable"),
        (Fact("ett"), "not actionable"),
        (Fact("picc", location="svc"), "not actionable"),
        (Fact("picc", location="right atrium"), "actionable"),
        (Fact("aorticcalc"), "benign"),
        (Fact("tortuous"), "benign"),
        (Fact("degenerative"), "benign"),
        (Fact("oldribfx", change="stable"), "benign"),
        (Fact("effusion", "absent"), "benign"),
        (Fact("effusion", "absent", change="resolved"), "not actionable"),
    ],
)
def test_significance_level_follows_guideline(fact: Fact, level: Urgency) -> None:
    assert significance_level(fact) == level


@pytest.mark.parametrize(
    ("key", "age", "indication", "level"),
    [
        ("aorticcalc", 80, None, "benign"),
        ("aorticcalc", 40, None, "not actionable"),
        ("degenerative", 80, "Back pain, degenerative changes of the spine?", "not actionable"),
        ("osteopenia", 70, None, "not actionable"),
        ("ribfx", 2, None, "urgent"),
        ("ribfx", 40, None, "actionable"),
        ("edema", None, "History of heart failure.", "not actionable"),
        ("edema", None, "Shortness of breath.", "actionable"),
        ("pneumonia", None, "Follow up of known pneumonia.", "not actionable"),
        ("atelectasis", 50, "Status post coronary bypass.", "not actionable"),
        ("pneumothorax", None, "Status post thoracentesis.", "urgent"),
        ("oldribfx", None, "Status post fall.", "not actionable"),
        ("nodule", None, "Chest pain.", "actionable"),
    ],
)
def test_significance_level_depends_on_the_patient(
    key: str, age: float | None, indication: str | None, level: Urgency
) -> None:
    assert patient_level(Fact(key), PatientContext(age, indication)) == level


def test_significance_level_after_trauma_is_at_least_actionable() -> None:
    small = Fact("pneumothorax", severity="mild")
    assert patient_level(small, PatientContext(indication="Trauma, known pneumothorax.")) == "actionable"
    assert patient_level(Fact("pneumothorax"), PatientContext(indication="Trauma.")) == "urgent"


def test_significance_weight_is_one_half_quarter_zero() -> None:
    facts = [Fact("tension"), Fact("mass"), Fact("scar"), Fact("tortuous")]
    assert [significance_weight(fact) for fact in facts] == [1.0, 0.5, 0.25, 0.0]
    assert [patient_weight(fact, PatientContext(65)) for fact in facts] == [1.0, 0.5, 0.25, 0.0]


def test_only_age_related_changes_weigh_nothing_and_only_in_the_old() -> None:
    aging = {"aorticcalc", "tortuous", "degenerative", "kyphosis", "shoulder"}
    indications = [None, "Status post surgery for known cancer and heart failure.", "History of COPD, old fractures."]
    for key, change, indication in product(FINDINGS, (None, *CHANGES), indications):
        fact = Fact(key, change=change)
        assert all(patient_weight(fact, PatientContext(age, indication)) >= 0.25 for age in (None, 3, 64.9))
        assert (patient_weight(fact, PatientContext(65, indication)) == 0) == (key in aging)


def test_significance_file_names_findings_details_and_levels_that_exist() -> None:
    details = {*SEVERITY_WORDS, *CHANGES, *(place for group in LOCATIONS.values() for place in group)}
    keys = [row[0] for name in ("details", "age", "trauma", "children", "procedure") for row in _SECTIONS[name]]
    keys += [row[1] for row in _SECTIONS["known"]]
    assert {key for row in keys for key in row.split()} <= FINDINGS.keys()
    for _, stated, level in _SECTIONS["details"]:
        assert level in URGENCIES
        assert set(stated.split(", ")) <= details


def test_means_same_care_is_symmetric_and_not_transitive() -> None:
    assert means_same_care("pneumonia", "consolidation")
    assert means_same_care("consolidation", "opacity")
    assert not means_same_care("pneumonia", "opacity")
    assert not means_same_care("effusion", "blunting")
    assert all(means_same_care(*pair) == means_same_care(*pair[::-1]) for pair in product(FINDINGS, repeat=2))
