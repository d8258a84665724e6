from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.fact_sampling import sample_facts
from radreward.synthesis.grammar import render_report
from radreward.synthesis.report_styles import ReportStyle, sample_style
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.normalization import MAX_REPORT_CHARS
from radreward.text.report_parser import (
    PartiallyParsedSentence,
    is_fully_parsed,
    is_heading,
    parse_report,
)
from radreward.text.sentence_parser import parse_sentence, sentence_facts

random_report = random_report_source(sample_style)

WORDS = [name for finding in FINDINGS.values() for name in finding.plain_names] + [
    *("no", "not", "without", "left", "RLL", "small", "severe", "possible", "unchanged", "new", "and", "or", "with"),
    *("Findings:", "IMPRESSION:", "Technique:", "1.", ".", ",", "İ", "ß", "___", "tube,", "is", "seen", "\n", "It"),
]
TEXTS = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))


def test_parse_report_restores_facts_of_grammar() -> None:
    for seed in range(200):
        report = random_report(Random(seed))
        assert set(parse_report(report.text).facts) == set(report.facts), report.text


def test_parse_report_restores_sections() -> None:
    for seed in range(100):
        rng = Random(seed)
        report = render_report(sample_facts(rng), rng, ReportStyle("both", has_headings=True, has_history=True))
        parsed = parse_report(report.text)
        assert parsed.text == report.text
        for section in ("findings", "impression", "indication"):
            facts = [
                {f for sentence in r.sentences if sentence.section == section for f in sentence.facts}
                for r in (report, parsed)
            ]
            assert facts[0] == facts[1]


def test_parse_report_parses_most_grammar_sentences_completely() -> None:
    sentences = [s for seed in range(300) for s in parse_report(random_report(Random(seed)).text).sentences if s.facts]
    assert sum(isinstance(sentence, PartiallyParsedSentence) for sentence in sentences) < 0.1 * len(sentences)


@given(TEXTS)
def test_parse_report_preserves_text_and_spans_are_valid(text: str) -> None:
    report = parse_report(text)
    assert "".join(report.text.split()) == "".join(text.split())
    for sentence in report.sentences:
        for spans in parse_sentence(sentence.text).spans:
            for span in filter(None, spans):
                assert 0 <= span[0] < span[1] <= len(sentence.text)
                assert sentence.text[slice(*span)] == sentence.text[slice(*span)].strip()


@given(TEXTS)
def test_parse_sentence_spans_cover_the_name(text: str) -> None:
    for sentence in parse_report(text).sentences:
        parsed = parse_sentence(sentence.text)
        for fact, spans in zip(parsed.facts, parsed.spans, strict=bool(parsed.spans)):
            assert sentence_facts(sentence.text[slice(*spans.name)])[0].finding == fact.finding


def test_parse_report_time_is_bounded() -> None:
    unsplit = ("small left effusion, no edema and " * 1000)[:MAX_REPORT_CHARS]
    assert parse_report(unsplit).facts == ()
    assert len(parse_report("Small left pleural effusion. " * (MAX_REPORT_CHARS // 30)).facts) == 1


def test_parse_report_long_text_raises() -> None:
    with pytest.raises(ValueError, match="at most 20000 characters but got 20001"):
        parse_report("a" * (MAX_REPORT_CHARS + 1))


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
def test_parse_report_reads_free_wording(text: str, facts: set[str | tuple[str | None, ...]]) -> None:
    parsed = parse_report(text).facts
    for expected in facts:
        if isinstance(expected, tuple):
            assert expected in {fact[:4] for fact in parsed}
        elif expected.startswith("-"):
            assert expected[1:] in {fact.finding for fact in parsed if not fact.positive}
        else:
            assert expected in {fact.finding for fact in parsed if fact.positive}
    assert len(parsed) == len(facts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "No change in pneumothorax or effusion.",
            {"pneumothorax": ("present", "stable"), "effusion": ("present", None)},
        ),
        ("No change right upper lobe scarring.", {"scar": ("present", "stable")}),
        ("Edema and effusions have improved.", {"edema": ("present", "better"), "effusion": ("present", "better")}),
        (
            "The ETT and right chest tube have been removed.",
            dict.fromkeys(("ett", "chesttube"), ("absent", "resolved")),
        ),
        (
            "Edema has resolved and an effusion persists.",
            {"edema": ("absent", "resolved"), "effusion": ("present", "stable")},
        ),
        ("Small pneumothorax after removal of the drain.", {"pneumothorax": ("present", None)}),
        ("Pneumothorax is seen after the tube was removed.", {"pneumothorax": ("present", None)}),
        (
            "No pneumothorax, unchanged cardiomegaly.",
            {"pneumothorax": ("absent", None), "cardiomegaly": ("present", "stable")},
        ),
        ("There is no edema and effusions are stable.", {"edema": ("absent", None), "effusion": ("present", "stable")}),
        ("Stable chest without edema.", {"edema": ("absent", "stable")}),
        ("No additional nodule.", {"nodule": ("absent", None)}),
        ("No increase in the effusion.", {"effusion": ("present", "stable")}),
        ("The effusion has not resolved.", {"effusion": ("present", "stable")}),
        ("Edema has not progressed.", {"edema": ("present", "stable")}),
        ("Nearly complete resolution of the effusion.", {"effusion": ("present", "better")}),
        ("Effusion is possible, mass is seen.", {"effusion": ("uncertain", None), "mass": ("uncertain", None)}),
        ("Effusions, left larger than right.", {"effusion": ("present", None)}),
        ("A nodule larger than 3 cm.", {"nodule": ("present", None)}),
        ("The nodule is larger than 3 months ago.", {"nodule": ("present", "worse")}),
        ("Unchanged R effusion w/o PTX.", {"effusion": ("present", "stable"), "pneumothorax": ("absent", None)}),
        ("The effusion has partially resolved.", {"effusion": ("present", "better")}),
        ("No edema apart from a small effusion.", {"edema": ("absent", None), "effusion": ("present", None)}),
        ("Opacity, likely atelectasis.", {"opacity": ("present", None), "atelectasis": ("uncertain", None)}),
        ("Left base opacity, pneumonia?", {"opacity": ("present", None), "pneumonia": ("uncertain", None)}),
        ("Opacity may represent pneumonia.", {"opacity": ("present", None), "pneumonia": ("uncertain", None)}),
        ("Opacity may be present.", {"opacity": ("uncertain", None)}),
        (
            "The nodule is suspicious for a mass.",
            {"nodule": ("present", None), "mass": ("uncertain", None)},
        ),
    ],
)
def test_parse_report_reads_certainty_and_change(text: str, expected: dict[str, tuple[str, str | None]]) -> None:
    assert {fact.finding: (fact.polarity, fact.change) for fact in parse_report(text).facts} == expected


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
def test_is_fully_parsed_true(text: str) -> None:
    assert is_fully_parsed(parse_report(text))


@pytest.mark.parametrize(
    "text",
    [
        "Small left pleural effusion with confetti.",
        "Small left pleural effusion, larger on the right.",
        "No large pleural effusion.",
        "No effusion, cardiomegaly present.",
        "No effusion and cardiomegaly.",
        "Left basilar atelectasis or pneumonia.",
        "Atelectasis versus pneumonia at the left base.",
        "Small nodule as large as a pea.",
        "Pleural effusion, left greater than right.",
        "The drain is in the left chest.",
        "Possible effusion, cardiomegaly.",
        "Small effusion. It has grown.",
        "Heart size at the upper limits of normal.",
        "New effusion and cardiomegaly.",
        "Effusion at the left base.",
    ],
)
def test_is_fully_parsed_false(text: str) -> None:
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
def test_parse_report_ignores_other_sections(text: str) -> None:
    report = parse_report(text)
    assert {fact.finding for fact in report.facts} == {"scar"}
    assert report.text == text
    assert is_fully_parsed(report)


def test_parse_report_marks_headings() -> None:
    report = parse_report("History: Fall. IMPRESSION: No edema.")
    assert [sentence.text for sentence in report.sentences if is_heading(sentence)] == ["History:", "IMPRESSION:"]
    assert [sentence.section for sentence in report.sentences] == ["indication"] * 2 + ["impression"] * 2


def test_second_sentence_about_a_finding_adds_its_details() -> None:
    report = parse_report("There is a left upper lobe nodule. This nodule measures 8 mm. These nodules are new.")
    assert {fact.size for fact in report.facts} == {8.0}
    assert len(report.facts) == 1
    other = parse_report("There is a left upper lobe nodule. This effusion is new.")
    assert len(other.facts) == 2


@pytest.mark.parametrize(
    "report",
    [
        "INDICATION: Cough. Left pleural effusion.",
        "COMPARISON: None. There is a left pleural effusion.",
        "HISTORY: Pneumonia. LUNGS: Left pleural effusion.",
        "HISTORY: Pneumonia. FINDINGS: Left pleural effusion.",
        "Left pleural effusion. TECHNIQUE: Two views. Pneumonia cannot be excluded on these.",
    ],
)
def test_findings_without_a_heading_of_their_own_follow_the_first_sentence(report: str) -> None:
    assert parse_report(report).facts == (Fact("effusion", location="left"),)


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        ("Chest X-ray. Comparison: None. Left effusion.", ["effusion"]),
        ("Chest. HISTORY: Cough. Known lung cancer. COMPARISON: None. Left effusion.", ["effusion"]),
        ("COMPARISON: Film of 1/2/2020. Left effusion. IMPRESSION: Edema.", ["effusion", "edema"]),
        ("HISTORY: Cough. COPD. IMPRESSION: Edema.", ["edema"]),
        ("HISTORY: Cough. Left effusion. RECOMMENDATION: CT. Assess the nodule.", ["effusion"]),
        ("Left effusion. HISTORY: Cough. COPD.", ["effusion"]),
    ],
)
def test_findings_without_a_heading_follow_the_last_section_before_them(text: str, findings: list[str]) -> None:
    assert [fact.finding for fact in parse_report(text).facts] == findings
