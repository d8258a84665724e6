"""Tests of normal statements: negated findings, and consistency with reported findings."""

from random import Random

import pytest

from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import render_report
from radreward.synthesis.report_styles import ReportStyle
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.normal_statements import is_uninformative, negated_findings
from radreward.text.sentence_templates import ALL_CLEAR_STATEMENTS, NORMAL_STATEMENTS

STATEMENTS = [(text, keys) for keys, texts in NORMAL_STATEMENTS.items() for text in texts]
CLEAR_LUNGS = set(NORMAL_STATEMENTS["opacity", "consolidation"])


@pytest.mark.parametrize(("text", "keys"), STATEMENTS, ids=[text for text, _ in STATEMENTS])
def test_negated_findings_of_grammar_statements(text: str, keys: tuple[str, ...]) -> None:
    assert negated_findings(text.lower()) == keys
    assert set(keys) <= FINDINGS.keys()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("both lungs appear clear", ("opacity", "consolidation")),
        ("cardiac silhouette within the limits of normal in size.", ("cardiomegaly",)),
        ("no acute abnormality of the bony thorax", ("fracture",)),
        ("no abnormality of the lungs", ()),
        ("the lungs are not clear.", ()),
        ("the lungs are clear of shrapnel.", ()),
        ("the heart is normal but large.", ()),
        ("normal.", ()),
        ("", ()),
    ],
)
def test_negated_findings_of_free_wording(text: str, keys: tuple[str, ...]) -> None:
    assert negated_findings(text) == keys


@pytest.mark.parametrize(
    "text", [*ALL_CLEAR_STATEMENTS, "", "...", "no acute process identified in the chest", "normal study"]
)
def test_is_uninformative_true(text: str) -> None:
    assert is_uninformative(text.lower())


@pytest.mark.parametrize("text", ["shrapnel.", "no shrapnel.", "acute disease.", "normal heart", "disease"])
def test_is_uninformative_false(text: str) -> None:
    assert not is_uninformative(text)


def _normal(facts: tuple[Fact, ...], rng: Random) -> list[tuple[str, ...]]:
    texts = dict(STATEMENTS)
    return [
        texts[entry.text]
        for entry in render_report(facts, rng, ReportStyle(filler_probability=0.0)).sentences
        if entry.text in texts
    ]


@pytest.mark.parametrize(
    ("finding", "excluded", "allowed"),
    [
        ("pneumonia", ("opacity", "consolidation"), ("cardiomegaly",)),
        ("nodule", ("opacity", "consolidation"), ("fracture",)),
        ("edema", ("edema", "congestion"), ("fracture",)),
        ("effusion", ("effusion", "pneumothorax"), ("cardiomegaly",)),
        ("pneumothorax", ("effusion", "pneumothorax"), ("fracture",)),
        ("ribfx", ("fracture",), ("opacity", "consolidation")),
        ("cardiomegaly", ("cardiomegaly", "widemed"), ("edema", "congestion")),
        ("picc", (), ("opacity", "consolidation")),
    ],
)
def test_render_report_omits_implausible_normal_statements(
    finding: str, excluded: tuple[str, ...], allowed: tuple[str, ...]
) -> None:
    statements = [keys for seed in range(150) for keys in _normal((Fact(finding),), Random(seed))]
    assert excluded not in statements
    assert allowed in statements


def test_render_report_calls_lungs_clear_only_without_lung_findings() -> None:
    count = 0
    for seed in range(500):
        rng = Random(seed)
        report = render_report(sample_facts(rng), rng, ReportStyle())
        if CLEAR_LUNGS & {entry.text for entry in report.sentences}:
            count += 1
            findings = [FINDINGS[fact.finding] for fact in report.facts if fact.positive]
            assert not [entry.key for entry in findings if entry.region == "lungs" and entry.urgency != "benign"]
    assert count > 50
