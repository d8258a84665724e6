"""Reports of any style are recognized, other English text is not."""

import csv
import re
from pathlib import Path
from random import Random

import pytest

from radreward import load
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.report_findings import describes_finding
from radreward.scorers.status import STATUS_NO_REPORT, STATUS_OK
from radreward.synthesis.candidates import random_report_source
from radreward.synthesis.report_styles import StyleSampler, brief_style, full_style, plain_style, statement_style
from radreward.text.recognition import reads_as_report
from radreward.text.section_files import read_sections
from radreward.text.sentence_splitter import split_sentences

SHORT_REPORTS = (
    "Lungs are clear.",
    "Stable.",
    "STABLE",
    "No acute disease.",
    "No acute cardiopulmonary process.",
    "Negative.",
    "Normal.",
    "Normal chest.",
    "Unchanged.",
    "No change.",
    "No significant interval change.",
    "No PTX.",
    "Improving.",
    "Cardiomegaly.",
    "1. No radiographic evidence of acute thoracic XXXX.",
    "ETT in place.",
    "Heart size normal.",
    "Unremarkable study.",
    "WNL",
    "NAD.",
    "Same as prior.",
)
OTHER_TEXTS = (
    "The cat sat on the mat.",
    "I am sorry, but I cannot help with that.",
    "As an AI language model, I do not see an image.",
    "Lorem ipsum dolor sit amet.",
    "Small left.",
    "aaaa aaaa aaaa",
    "12345",
    "def score(self): return 1",
    "猫はマットの上に座った。",
)


REFUSALS = (
    "I'm sorry, but I can't help with interpreting chest X-rays.",
    "I cannot view the image. Please provide the chest radiograph.",
    "As an AI language model, I am unable to analyze medical images such as chest X-rays. Consult a radiologist.",
    "Unfortunately, the image was not provided, so I can't describe the lungs or heart.",
    "I am not able to determine whether there is a pneumothorax or an effusion.",
    "Please upload the chest X-ray so that I can write the findings.",
    "Here is the radiology report:",
    "This is beyond what a language model can do.",
    "We do not have access to the film.",
    "Unable to analyze the medical image.",
    "Feel free to ask again.",
    "I would be happy to assist with chest anatomy.",
    "I'd recommend consulting a radiologist about the lungs.",
    "Can I help with another radiograph?",
    "How may I help with the lungs?",
)
"""Answers of language models that state nothing."""


@pytest.mark.parametrize("text", SHORT_REPORTS)
def test_short_report_is_recognized(text: str) -> None:
    assert reads_as_report(text)


@pytest.mark.parametrize("text", OTHER_TEXTS)
def test_other_text_is_not(text: str) -> None:
    assert not reads_as_report(text)


@pytest.mark.parametrize("name", ["er2score", "ratescore", "sentence-eval", "entity-f1", "crimson", "chexpert-f1"])
def test_refusal_has_no_score(name: str) -> None:
    scores = load(name).score(["The lungs are clear. The heart is normal."] * len(REFUSALS), REFUSALS)
    assert set(scores.status) == {f"{'no entity' if name == 'ratescore' else STATUS_NO_REPORT} in the candidate"}


@pytest.mark.parametrize("cue", read_sections("addresses.txt")["addresses"])
def test_each_cue_stands_in_a_refusal(cue: str) -> None:
    sentences = [sentence for text in REFUSALS for sentence in split_sentences(text)]
    assert any(re.search(cue, sentence.lower()) for sentence in sentences)


def test_report_of_a_language_model_is_recognized() -> None:
    assert reads_as_report("Here is the report for the given image. The heart is slightly enlarged.")
    assert reads_as_report("Equal aeration, no shadows. As a language model, I cannot replace a radiologist.")
    assert reads_as_report("I am unable to exclude a pneumothorax, and I will need the lateral view.")
    assert reads_as_report("New mass on the left, consult a physician.")
    assert reads_as_report("Here is the radiology report: Small left pleural effusion.")
    assert reads_as_report("I cannot say that the right lower lobe pneumonia has improved.")
    assert reads_as_report("Large left pneumothorax, please consult surgery.")


@pytest.mark.parametrize("style", [brief_style, full_style, plain_style, statement_style])
def test_generated_reports_are_recognized(style: StyleSampler) -> None:
    draw, rng = random_report_source(style), Random(0)
    reports = [draw(rng).text for _ in range(200)]
    assert [report for report in reports if not reads_as_report(report)] == []


def test_real_reports_are_recognized(openi_csv: Path) -> None:
    with openi_csv.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for fields in (["findings"], ["impression"], ["findings", "impression"]):
        texts = [" ".join(row[field] for field in fields).strip() for row in rows]
        assert sum(not reads_as_report(text) for text in texts if text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "The backbone bends slightly to the left.",
        "Liquid tracks between the right upper and middle lobes.",
        "Alveolar microlithiasis in the left lower lobe.",
        "Ground-glass focus in the apical segment of the right upper lobe.",
    ],
)
def test_finding_in_other_words_reads_as_a_report(text: str) -> None:
    assert not reads_as_report(text)
    assert describes_finding(text, embedded_classifier())
    assert load("entity-f1").score(["Scoliosis. Clear lungs."], [text]).status == (STATUS_OK,)


@pytest.mark.parametrize(
    "text",
    [
        *OTHER_TEXTS,
        *REFUSALS,
        "Please find the invoice attached.",
        "Both wings of the hotel are full.",
        "There is a hole in the left sock.",
        "mitralgan is the the is is",
    ],
)
def test_other_text_describes_no_finding(text: str) -> None:
    assert not describes_finding(text, embedded_classifier())
