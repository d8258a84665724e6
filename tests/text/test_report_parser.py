from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import render_report
from radreward.synthesis.report_styles import ReportStyle, sample_style
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import (
    MAX_REPORT_CHARS,
    PartiallyParsedSentence,
    is_fully_parsed,
    parse_report,
    parse_sentence,
    sentence_facts,
    split_simple_sentences,
)

random_report = random_report_source(sample_style)

WORDS = [noun.removeprefix("*") for entry in FINDINGS.values() for noun in entry.names] + [
    *("no", "not", "without", "left", "RLL", "small", "severe", "possible", "unchanged", "new", "and", "or", "with"),
    *("Findings:", "IMPRESSION:", "Technique:", "1.", ".", ",", "İ", "ß", "___", "tube,", "is", "seen", "\n", "It"),
]
TEXTS = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))


def test_reads_back_what_the_grammar_wrote() -> None:
    for seed in range(500):
        report = random_report(Random(seed))
        assert set(parse_report(report.text).facts) == set(report.facts), report.text


def test_reads_back_sections() -> None:
    for seed in range(100):
        rng = Random(seed)
        report = render_report(sample_facts(rng), rng, ReportStyle("both", has_headings=True, has_history=True))
        again = parse_report(report.text)
        assert again.text == report.text
        for section in ("findings", "impression", "indication"):
            facts = [
                {f for entry in r.sentences if entry.section == section for f in entry.facts} for r in (report, again)
            ]
            assert facts[0] == facts[1]


def test_most_of_what_the_grammar_writes_is_read_wholly() -> None:
    entries = [entry for seed in range(300) for entry in parse_report(random_report(Random(seed)).text).sentences]
    stated = [entry for entry in entries if entry.facts]
    assert sum(isinstance(entry, PartiallyParsedSentence) for entry in stated) < 0.1 * len(stated)


@given(TEXTS)
def test_any_text_is_kept_and_spans_are_within(text: str) -> None:
    report = parse_report(text)
    assert report.text == " ".join(text.split())
    for entry in report.sentences:
        for spans in parse_sentence(entry.text).spans:
            for span in filter(None, spans):
                assert 0 <= span[0] < span[1] <= len(entry.text)
                assert entry.text[slice(*span)] == entry.text[slice(*span)].strip()


@given(TEXTS)
def test_spans_hold_the_name(text: str) -> None:
    for entry in parse_report(text).sentences:
        reading = parse_sentence(entry.text)
        for fact, spans in zip(reading.facts, reading.spans, strict=bool(reading.spans)):
            assert sentence_facts(entry.text[slice(*spans.name)])[0].finding == fact.finding


def test_time_is_bounded() -> None:
    """Without full stops there is nothing to read; with them, a report of the greatest length takes a moment."""
    endless = ("small left effusion, no edema and " * 1000)[:MAX_REPORT_CHARS]
    assert parse_report(endless).facts == ()
    assert len(parse_report("Small left pleural effusion. " * (MAX_REPORT_CHARS // 30)).facts) == 1


def test_a_text_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 20000 characters but got 20001"):
        parse_report("a" * (MAX_REPORT_CHARS + 1))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Seen by Dr. ___ today. No edema.", ["Seen by Dr. ___ today.", "No edema."]),
        ("1. No edema. 2. Scar.", ["1. No edema.", "2. Scar."]),
        ("Mass of 3.2 cm. Scar", ["Mass of 3.2 cm.", "Scar"]),
        ("", []),
        ("...", ["..."]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_simple_sentences(text) == sentences


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("SMALL LEFT EFFUSION WITHOUT PNEUMOTHORAX", {("effusion", "present", "left", "mild"), "-pneumothorax"}),
        ("no ptx, effusion or edema", {"-pneumothorax", "-effusion", "-edema"}),
        ("Pneumothorax is not seen", {"-pneumothorax"}),
        ("RLL infiltrate, cannot exclude mass", {"consolidation", "mass"}),
        ("Both lungs appear clear", {"-opacity", "-consolidation"}),
        ("The heart is not enlarged", {"-cardiomegaly"}),
        ("Massive cardiomegaly.", {("cardiomegaly", "present", None, "severe")}),
        ("Left atrial enlargement.", {"la"}),
        ("Bony structures show no acute abnormality", {"-fracture"}),
        ("Heart size at the upper limits of normal.", set()),
        ("Nothing of the kind.", set()),
    ],
)
def test_wild_sentences(text: str, facts: set[str | tuple[str | None, ...]]) -> None:
    read_facts = parse_report(text).facts
    for expected in facts:
        if isinstance(expected, tuple):
            assert expected in {fact[:4] for fact in read_facts}
        elif expected.startswith("-"):
            assert expected[1:] in {fact.finding for fact in read_facts if not fact.positive}
        else:
            assert expected in {fact.finding for fact in read_facts if fact.positive}
    assert len(read_facts) == len(facts)


@pytest.mark.parametrize(
    "text",
    [
        "There is a small left pleural effusion.",
        "No pleural effusion or pneumothorax.",
        "small effusion on the right",
        "Unchanged cardiomegaly.",
        "Possible RLL pneumonia",
        "LUNGS ARE CLEAR",
        "2. No acute disease.",
    ],
)
def test_read_wholly(text: str) -> None:
    assert is_fully_parsed(parse_report(text))


@pytest.mark.parametrize(
    "text",
    [
        "Small left pleural effusion with shrapnel.",
        "Small left pleural effusion, larger on the right.",
        "No large pleural effusion.",
        "No effusion, cardiomegaly present.",
        "No effusion and cardiomegaly.",
        "Left basilar atelectasis or pneumonia.",
        "Atelectasis versus pneumonia at the left base.",
        "Small nodule of 4 mm.",
        "Pleural effusion, left greater than right.",
        "The drain is in the left chest.",
        "Possible effusion, cardiomegaly.",
        "Small effusion. It has grown.",
        "Heart size at the upper limits of normal.",
        "New effusion and cardiomegaly.",
        "Effusion at the left base.",
    ],
)
def test_not_read_wholly(text: str) -> None:
    assert not is_fully_parsed(parse_report(text))


@pytest.mark.parametrize(
    "text",
    [
        "HISTORY: Left effusion, small. FINDINGS: Scar.",
        "Comparison: Edema on the prior film. Findings: Scar.",
        "INDICATION: Pneumonia TECHNIQUE: Two views for mass FINDINGS: Scar",
        "Reason for exam: Nodule? Procedure: CT for cavity. Impression: Scar.",
        "Scar. RECOMMENDATION: CT for mass.",
    ],
)
def test_only_findings_and_impression_are_read(text: str) -> None:
    report = parse_report(text)
    assert {fact.finding for fact in report.facts} == {"scar"}
    assert report.text == text
    assert is_fully_parsed(report)


def test_headings_are_sentences_that_head() -> None:
    report = parse_report("History: Fall. IMPRESSION: No edema.")
    heads = [
        entry.text for entry in report.sentences if isinstance(entry, PartiallyParsedSentence) and entry.is_heading
    ]
    assert heads == ["History:", "IMPRESSION:"]
    assert [entry.section for entry in report.sentences] == ["indication"] * 2 + ["impression"] * 2
