from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.synthesis.candidates import any_report
from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import render
from radreward.synthesis.report_styles import Style, sample_style
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import (
    LONGEST,
    Excerpt,
    annotate,
    read,
    sentence_facts,
    split_sentences,
    wholly_read,
)

random_report = any_report(sample_style)

WORDS = [noun.removeprefix("*") for entry in FINDINGS.values() for noun in entry.nouns] + [
    *("no", "not", "without", "left", "RLL", "small", "severe", "possible", "unchanged", "new", "and", "or", "with"),
    *("Findings:", "IMPRESSION:", "Technique:", "1.", ".", ",", "İ", "ß", "___", "tube,", "is", "seen", "\n", "It"),
]
TEXTS = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))


def test_reads_back_what_the_grammar_wrote() -> None:
    for seed in range(500):
        report = random_report(Random(seed))
        assert set(annotate(report.text).facts) == set(report.facts), report.text


def test_reads_back_sections() -> None:
    for seed in range(100):
        rng = Random(seed)
        report = render(sample_facts(rng), rng, Style("both", headed=True, history=True))
        again = annotate(report.text)
        assert again.text == report.text
        for section in ("findings", "impression", "indication"):
            facts = [
                {f for entry in r.sentences if entry.section == section for f in entry.facts} for r in (report, again)
            ]
            assert facts[0] == facts[1]


def test_most_of_what_the_grammar_writes_is_read_wholly() -> None:
    entries = [entry for seed in range(300) for entry in annotate(random_report(Random(seed)).text).sentences]
    stated = [entry for entry in entries if entry.facts]
    assert sum(isinstance(entry, Excerpt) for entry in stated) < 0.1 * len(stated)


@given(TEXTS)
def test_any_text_is_kept_and_spans_are_within(text: str) -> None:
    report = annotate(text)
    assert report.text == " ".join(text.split())
    for entry in report.sentences:
        for spans in read(entry.text).spans:
            for span in filter(None, spans):
                assert 0 <= span[0] < span[1] <= len(entry.text)
                assert entry.text[slice(*span)] == entry.text[slice(*span)].strip()


@given(TEXTS)
def test_spans_hold_the_name(text: str) -> None:
    for entry in annotate(text).sentences:
        reading = read(entry.text)
        for fact, spans in zip(reading.facts, reading.spans, strict=bool(reading.spans)):
            assert sentence_facts(entry.text[slice(*spans.name)])[0].finding == fact.finding


def test_time_is_bounded() -> None:
    """Without full stops there is nothing to read; with them, a report of the greatest length takes a moment."""
    endless = ("small left effusion, no edema and " * 1000)[:LONGEST]
    assert annotate(endless).facts == ()
    assert len(annotate("Small left pleural effusion. " * (LONGEST // 30)).facts) == 1


def test_a_text_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 20000 characters but got 20001"):
        annotate("a" * (LONGEST + 1))


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
    assert split_sentences(text) == sentences


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
    read_facts = annotate(text).facts
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
    assert wholly_read(annotate(text))


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
    assert not wholly_read(annotate(text))


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
    report = annotate(text)
    assert {fact.finding for fact in report.facts} == {"scar"}
    assert report.text == text
    assert wholly_read(report)


def test_headings_are_sentences_that_head() -> None:
    report = annotate("History: Fall. IMPRESSION: No edema.")
    heads = [entry.text for entry in report.sentences if isinstance(entry, Excerpt) and entry.heads]
    assert heads == ["History:", "IMPRESSION:"]
    assert [entry.section for entry in report.sentences] == ["indication"] * 2 + ["impression"] * 2
