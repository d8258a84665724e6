"""What is written: every template says what it is filled with, and styles give the sections that they promise."""

from random import Random

import pytest

from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import MOST_CONCLUSIONS, body, joint_sentence, normal_sentence, render, restate
from radreward.synthesis.noun_phrases import fill, noun_phrase
from radreward.synthesis.report_styles import Style, sample_style
from radreward.text.facts import Change, Fact, Section
from radreward.text.findings import FINDINGS, URGENCIES, ancestry
from radreward.text.report_parser import annotate, sentence_facts
from radreward.text.sentence_templates import (
    ABSENT,
    ALL_CLEAR,
    CHANGED,
    CHANGED_DEVICE,
    DEVICE,
    FILLER,
    HISTORY,
    NORMAL,
    PLAIN,
    PRIOR,
    STILL,
    UNCERTAIN,
)

CHANGES: tuple[Change, ...] = ("new", "worse", "better", "stable", "resolved")
FILLED = [
    *((template, Fact("effusion", location="left", severity="mild")) for template in PLAIN),
    *((template, Fact("picc", location="svc")) for template in DEVICE),
    *((template, Fact("pneumonia", "uncertain", "right lower")) for template in UNCERTAIN),
    *((template, Fact("pneumothorax", "absent")) for template in ABSENT),
    *(
        (template, Fact(key, "absent" if change == "resolved" else "present", change=change))
        for key, table in (("edema", CHANGED), ("effusion", CHANGED), ("ett", CHANGED_DEVICE))
        for change in CHANGES
        for template in table.get(change, ())
    ),
]


@pytest.mark.parametrize(("template", "fact"), FILLED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_template_is_read_as_what_it_was_filled_with(template: str, fact: Fact) -> None:
    for seed in range(20):
        text = fill(template, noun_phrase(fact, Random(seed)))
        assert sentence_facts(text) == (fact,), text
        assert text[0].isupper()
        assert text.endswith(".")


@pytest.mark.parametrize("text", [*ALL_CLEAR, *STILL, *FILLER, *HISTORY, *PRIOR])
def test_what_states_no_finding_is_read_as_none(text: str) -> None:
    assert sentence_facts(text) == ()


def test_no_wording_is_there_twice() -> None:
    tables = (PLAIN, DEVICE, UNCERTAIN, ABSENT, *CHANGED.values(), *CHANGED_DEVICE.values(), ALL_CLEAR, FILLER, HISTORY)
    for table in (*tables, [text for texts in NORMAL.values() for text in texts]):
        assert len({text.lower() for text in table}) == len(table)


def _sections(report_facts: tuple[Fact, ...], style: Style, seed: int) -> dict[Section, list[str]]:
    sections: dict[Section, list[str]] = {}
    for entry in render(report_facts, Random(seed), style).sentences:
        sections.setdefault(entry.section, []).append(entry.text)
    return sections


def test_layouts() -> None:
    for seed in range(100):
        facts = sample_facts(Random(seed))
        assert list(_sections(facts, Style("findings"), seed)) == ["findings"]
        assert list(_sections(facts, Style("impression"), seed)) == ["impression"]
        assert list(_sections(facts, Style("both"), seed)) == ["findings", "impression"]
        assert list(_sections(facts, Style("both", history=True), seed))[0] == "indication"


def test_headings_numbers_and_lower_case() -> None:
    for seed in range(50):
        facts = sample_facts(Random(seed))
        headed = render(facts, Random(seed), Style("both", headed=True)).text
        assert headed.startswith("Findings:")
        assert headed.count("Impression:") == 1
        numbered = _sections(facts, Style("impression", numbered=True), seed)["impression"]
        assert all(text.startswith(f"{number}. ") for number, text in enumerate(numbered, 1))
        lower = render(facts, Random(seed), Style(lower=True)).text
        assert lower == lower.lower()
        assert lower.endswith(" .")


def test_every_fact_is_stated() -> None:
    for seed in range(200):
        rng = Random(seed)
        facts = sample_facts(rng)
        report = render(facts, rng, sample_style(rng))
        assert set(facts) <= {fact for entry in report.sentences for fact in entry.facts}


def _rank(fact: Fact) -> int:
    finding = FINDINGS[fact.finding]
    tube_in_place = finding.region == "devices" and not finding.matters
    return len(URGENCIES) if tube_in_place else URGENCIES.index(finding.urgency)


def test_a_conclusion_holds_what_is_most_urgent_first() -> None:
    for seed in range(100):
        rng = Random(seed)
        facts = sample_facts(rng)
        report = render(facts, rng, Style("both", filler=0.0))
        last = [entry for entry in report.sentences if entry.section == "impression"]
        stated = [fact for entry in last for fact in entry.facts]
        assert len(stated) <= MOST_CONCLUSIONS
        ranks = [min(map(_rank, entry.facts)) for entry in last if entry.facts]
        assert ranks == sorted(ranks)


def test_nothing_that_is_found_is_denied() -> None:
    for seed in range(300):
        rng = Random(seed)
        facts = render(sample_facts(rng), rng).facts
        found = {fact.finding for fact in facts if fact.positive}
        denied = {fact.finding for fact in facts if not fact.positive and not fact.change}
        assert not denied & {key for finding in found for key in ancestry(finding)}
        assert not found & {key for finding in denied for key in ancestry(finding)}


def test_facts_together() -> None:
    here, gone = ("effusion", "edema", "scar"), ("pneumothorax", "mass", "fracture")
    for seed in range(50):
        rng = Random(seed)
        for facts in (tuple(map(Fact, here)), tuple(Fact(key, "absent") for key in gone)):
            for count in (1, 2, 3):
                assert set(sentence_facts(joint_sentence(facts[:count], rng).text)) == set(facts[:count])
        mixed = [*map(Fact, here), Fact("mass", "absent"), Fact("nodule", change="stable")]
        stated = [fact for entry in body(mixed, rng, "findings") for fact in entry.facts]
        assert sorted(map(str, stated)) == sorted(map(str, mixed))


def test_restated_facts_are_the_same() -> None:
    for seed in range(100):
        rng = Random(seed)
        report = render(sample_facts(rng), rng)
        for entry in report.sentences:
            again = restate(entry.facts, rng, entry.section)
            assert {fact for new in again for fact in new.facts} == set(entry.facts)
            assert set(annotate(" ".join(new.text for new in again)).facts) <= set(entry.facts)


@pytest.mark.parametrize("keys", NORMAL)
def test_a_normal_statement_says_what_it_denies(keys: tuple[str, ...]) -> None:
    assert normal_sentence(keys, Random(0)).facts == tuple(Fact(key, "absent") for key in keys)
