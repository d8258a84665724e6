"""Tests of the report grammar: parsing of filled templates, sections and formats of styles."""

from random import Random

import pytest

from radreward.criteria.error_counting import compare_facts
from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import (
    MAX_CONCLUSIONS,
    joint_sentence,
    normal_sentence,
    render_facts,
    render_report,
    restate_facts,
)
from radreward.synthesis.noun_phrases import fill_template, noun_phrase
from radreward.synthesis.report_styles import ReportStyle, sample_style
from radreward.text.facts import Change, Fact, Section
from radreward.text.findings import FINDINGS, URGENCIES, ancestors
from radreward.text.report_parser import parse_report
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_templates import (
    ABSENT_TEMPLATES,
    ALL_CLEAR_STATEMENTS,
    CHANGE_TEMPLATES,
    CLINICAL_HISTORIES,
    DEVICE_CHANGE_TEMPLATES,
    DEVICE_TEMPLATES,
    FILLER_SENTENCES,
    NORMAL_STATEMENTS,
    PRESENT_TEMPLATES,
    PRIOR_STUDIES,
    UNCERTAIN_TEMPLATES,
    UNCHANGED_DEVICE_STATEMENTS,
)

CHANGES: tuple[Change, ...] = ("new", "worse", "better", "stable", "resolved")
FILLED = [
    *((template, Fact("effusion", location="left", severity="mild")) for template in PRESENT_TEMPLATES),
    *((template, Fact("picc", location="svc")) for template in DEVICE_TEMPLATES),
    *((template, Fact("pneumonia", "uncertain", "right lower")) for template in UNCERTAIN_TEMPLATES),
    *((template, Fact("pneumothorax", "absent")) for template in ABSENT_TEMPLATES),
    *(
        (template, Fact(key, "absent" if change == "resolved" else "present", change=change))
        for key, table in (
            ("edema", CHANGE_TEMPLATES),
            ("effusion", CHANGE_TEMPLATES),
            ("ett", DEVICE_CHANGE_TEMPLATES),
        )
        for change in CHANGES
        for template in table.get(change, ())
    ),
]


@pytest.mark.parametrize(("template", "fact"), FILLED, ids=lambda value: value if isinstance(value, str) else "")
def test_filled_template_parses_to_its_fact(template: str, fact: Fact) -> None:
    for seed in range(20):
        text = fill_template(template, noun_phrase(fact, Random(seed)))
        assert sentence_facts(text) == (fact,), text
        assert text[0].isupper()
        assert text.endswith(".")


@pytest.mark.parametrize(
    "text",
    [*ALL_CLEAR_STATEMENTS, *UNCHANGED_DEVICE_STATEMENTS, *FILLER_SENTENCES, *CLINICAL_HISTORIES, *PRIOR_STUDIES],
)
def test_filler_parses_to_no_facts(text: str) -> None:
    assert sentence_facts(text) == ()


def test_templates_are_distinct() -> None:
    tables = (
        PRESENT_TEMPLATES,
        DEVICE_TEMPLATES,
        UNCERTAIN_TEMPLATES,
        ABSENT_TEMPLATES,
        *CHANGE_TEMPLATES.values(),
        *DEVICE_CHANGE_TEMPLATES.values(),
        ALL_CLEAR_STATEMENTS,
        FILLER_SENTENCES,
        CLINICAL_HISTORIES,
    )
    for table in (*tables, [text for texts in NORMAL_STATEMENTS.values() for text in texts]):
        assert len({text.lower() for text in table}) == len(table)


def _sections(report_facts: tuple[Fact, ...], style: ReportStyle, seed: int) -> dict[Section, list[str]]:
    sections: dict[Section, list[str]] = {}
    for entry in render_report(report_facts, Random(seed), style).sentences:
        sections.setdefault(entry.section, []).append(entry.text)
    return sections


def test_render_report_layouts() -> None:
    for seed in range(100):
        facts = sample_facts(Random(seed))
        assert list(_sections(facts, ReportStyle("findings"), seed)) == ["findings"]
        assert list(_sections(facts, ReportStyle("impression"), seed)) == ["impression"]
        assert list(_sections(facts, ReportStyle("both"), seed)) == ["findings", "impression"]
        assert list(_sections(facts, ReportStyle("both", has_history=True), seed))[0] == "indication"


def test_render_report_headings_numbers_and_lowercase() -> None:
    for seed in range(50):
        facts = sample_facts(Random(seed))
        with_headings = render_report(facts, Random(seed), ReportStyle("both", has_headings=True)).text
        assert with_headings.startswith("Findings:")
        assert with_headings.count("Impression:") == 1
        numbered = _sections(facts, ReportStyle("impression", number_items=True), seed)["impression"]
        assert all(text.startswith(f"{number}. ") for number, text in enumerate(numbered, 1))
        lower = render_report(facts, Random(seed), ReportStyle(lowercase=True)).text
        assert lower == lower.lower()
        assert lower.endswith(" .")


def test_render_report_states_every_fact() -> None:
    for seed in range(200):
        rng = Random(seed)
        facts = sample_facts(rng)
        report = render_report(facts, rng, sample_style(rng))
        assert set(facts) <= {fact for entry in report.sentences for fact in entry.facts}


def _rank(fact: Fact) -> int:
    finding = FINDINGS[fact.finding]
    tube_in_place = finding.region == "devices" and not finding.is_significant
    return len(URGENCIES) if tube_in_place else URGENCIES.index(finding.urgency)


def test_impression_starts_with_most_urgent() -> None:
    for seed in range(100):
        rng = Random(seed)
        facts = sample_facts(rng)
        report = render_report(facts, rng, ReportStyle("both", filler_probability=0.0))
        conclusions = [entry for entry in report.sentences if entry.section == "impression"]
        stated = [fact for entry in conclusions for fact in entry.facts]
        assert len(stated) <= MAX_CONCLUSIONS
        ranks = [min(map(_rank, entry.facts)) for entry in conclusions if entry.facts]
        assert ranks == sorted(ranks)


def test_render_report_does_not_negate_stated_findings() -> None:
    for seed in range(300):
        rng = Random(seed)
        facts = render_report(sample_facts(rng), rng).facts
        positive = {fact.finding for fact in facts if fact.positive}
        negated = {fact.finding for fact in facts if not fact.positive and not fact.change}
        assert not negated & {key for finding in positive for key in ancestors(finding)}
        assert not positive & {key for finding in negated for key in ancestors(finding)}


def test_joint_sentence_parses_to_same_facts() -> None:
    present_keys, absent_keys = ("effusion", "edema", "scar"), ("pneumothorax", "mass", "fracture")
    for seed in range(50):
        rng = Random(seed)
        for facts in (tuple(map(Fact, present_keys)), tuple(Fact(key, "absent") for key in absent_keys)):
            for count in (1, 2, 3):
                assert set(sentence_facts(joint_sentence(facts[:count], rng).text)) == set(facts[:count])
        mixed = [*map(Fact, present_keys), Fact("mass", "absent"), Fact("nodule", change="stable")]
        stated = [fact for entry in render_facts(mixed, rng, "findings") for fact in entry.facts]
        assert sorted(map(str, stated)) == sorted(map(str, mixed))


def test_restate_facts_parses_to_same_facts() -> None:
    for seed in range(100):
        rng = Random(seed)
        report = render_report(sample_facts(rng), rng)
        for entry in report.sentences:
            restated = restate_facts(entry.facts, rng, entry.section)
            assert {fact for sentence in restated for fact in sentence.facts} == set(entry.facts)
            parsed = parse_report(" ".join(sentence.text for sentence in restated)).facts
            for reference, candidate in ((entry.facts, parsed), (parsed, entry.facts)):
                comparison = compare_facts(reference, candidate)
                assert not comparison.errors
                assert not comparison.weights.wrong


@pytest.mark.parametrize("keys", NORMAL_STATEMENTS)
def test_normal_sentence_parses_to_absent_findings(keys: tuple[str, ...]) -> None:
    assert normal_sentence(keys, Random(0)).facts == tuple(Fact(key, "absent") for key in keys)
