import re
from difflib import SequenceMatcher
from pathlib import Path
from random import Random
from typing import Any

import pytest

from experiments.openi.studies import read_openi
from radreward.criteria.error_counting import count_errors
from radreward.synthesis.perturbations.error_operators import ERROR_OPERATORS
from radreward.synthesis.perturbations.report_edits import paraphrase, reorder
from radreward.synthesis.perturbations.word_substitution import possibly_mentioned, substitute_words
from radreward.text.facts import AnnotatedReport
from radreward.text.locations import LOCATION_PREFIXES, LOCATION_SUFFIXES, LOCATION_WORDS
from radreward.text.normalization import MAX_REPORT_CHARS
from radreward.text.report_parser import PartiallyParsedSentence, parse_report
from radreward.text.severity import SEVERITY_WORDS

PHRASES = [
    *LOCATION_WORDS,
    *(
        phrase
        for words in (LOCATION_PREFIXES, LOCATION_SUFFIXES, SEVERITY_WORDS)
        for entry in words.values()
        for phrase in entry
    ),
]
ALLOWED = {word for phrase in PHRASES for word in re.findall(r"[\w-]+", phrase.lower())} | {
    *("a", "an", "mildly", "minimally", "moderately", "severely", "markedly", "lul", "rul", "lll", "rll")
}


def excerpt(text: str) -> PartiallyParsedSentence:
    entry = parse_report(text).sentences[0]
    assert isinstance(entry, PartiallyParsedSentence)
    return entry


@pytest.mark.parametrize(
    ("text", "changes", "edited"),
    [
        (
            "Small left effusion hides the left border.",
            {"location": "right"},
            "Small right effusion hides the left border.",
        ),
        ("LLL opacity behind the heart.", {"location": "right lower"}, "RLL opacity behind the heart."),
        ("Opacity in the RUL near the clip", {"location": "left upper"}, "Opacity in the LUL near the clip"),
        ("An extensive opacity near the clip", {"severity": "mild"}, "A subtle opacity near the clip"),
        ("Mildly enlarged heart, XXXX.", {"severity": "severe"}, "Severely enlarged heart, XXXX."),
        ("Effusion is small, XXXX.", {"severity": "severe"}, "Effusion is large, XXXX."),
        ("mild RIGHT effusion; XXXX", {"location": "left"}, "mild LEFT effusion; XXXX"),
        ("1. Small effusion by the clip", {"severity": "moderate"}, "1. Moderate effusion by the clip"),
        ("XXXX opacity at the left base", {"location": "right lower"}, "XXXX opacity at the right base"),
    ],
)
def test_substitute_words_replaces_one_word(text: str, changes: dict[str, Any], edited: str) -> None:
    entry = excerpt(text)
    fact = entry.facts[0]
    assert substitute_words(entry, (fact._replace(**changes), *entry.facts[1:])) == edited


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("Clip on the left, XXXX, and effusion.", {"location": "right"}),  # the location is not adjacent to the finding
        ("A small left effusion, XXXX.", {"location": "bilateral"}),  # "a bilateral effusion"
        ("Left greater than right effusions.", {"location": "right"}),
        ("Small effusion, XXXX.", {"change": "new"}),
        ("Small effusion, XXXX.", {"polarity": "absent"}),
        ("Effusion, XXXX.", {"severity": "mild"}),  # no severity word to replace
    ],
)
def test_substitute_words_impossible_returns_none(text: str, changes: dict[str, Any]) -> None:
    entry = excerpt(text)
    assert substitute_words(entry, (entry.facts[0]._replace(**changes), *entry.facts[1:])) is None


def test_possibly_mentioned_includes_unparsed_words() -> None:
    report = parse_report("Shrapnel and scarring, XXXX. No large effusion near the tortuous aorta, XXXX.")
    assert {"scar", "effusion", "loculated", "tortuous"} <= possibly_mentioned(report)
    assert "goiter" not in possibly_mentioned(report)
    assert not possibly_mentioned(parse_report("No effusion."))


FREE_TEXT_REPORTS = (
    "HISTORY: Left effusion. TECHNIQUE: Two views. FINDINGS: Small left pleural effusion with a drain, mild RLL "
    "opacity near the clip. It is new. There is a small hiatal hernia. No pneumothorax. IMPRESSION: "
    "1. Small left effusion. 2. Something else, left greater than right",
    "heart size normal lungs clear no effusion or ptx but mild RIGHT apical scarring is suspected near XXXX",
    "COMPARISON: None. The heart is enlarged; moderate. Effusion - left > right. Old left rib fracture, healed.",
    "Chest: stable. Mild cardiomegaly. Unchanged moderate left effusion. Increasing RLL infiltrate.",
)


def _check(report: AnnotatedReport, edited: AnnotatedReport) -> None:
    """Check that partially parsed sentences are preserved in order, except for location and severity words."""
    before = [entry for entry in report.sentences if isinstance(entry, PartiallyParsedSentence)]
    after = [entry for entry in edited.sentences if isinstance(entry, PartiallyParsedSentence)]
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if old.text == new.text:
            continue
        old_words, new_words = re.findall(r"[\w-]+|\W", old.text), re.findall(r"[\w-]+|\W", new.text)
        matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
        for kind, i, j, k, n in matcher.get_opcodes():
            if kind != "equal":
                assert {word.lower() for word in old_words[i:j] + new_words[k:n] if word.strip()} <= ALLOWED, (
                    old.text,
                    new.text,
                )


def _edit_all(report: AnnotatedReport, seed: int) -> dict[str, AnnotatedReport]:
    """Apply every operator, check each edited report, and return the error edits by tag."""
    edits = {}
    for tag, operator in ERROR_OPERATORS.items():
        edited = operator(report, Random(seed))
        if edited is None:
            continue
        edits[tag] = edited
        _check(report, edited)
        counts = count_errors(report.facts, edited.facts)
        parsed_counts = count_errors(parse_report(report.text).facts, parse_report(edited.text).facts)
        assert counts == parsed_counts, (report.text, edited.text)
    for edit in (paraphrase, reorder):
        edited = edit(report, Random(seed))
        _check(report, edited)
        assert not any(count_errors(report.facts, edited.facts).values())
    return edits


@pytest.mark.parametrize("text", FREE_TEXT_REPORTS)
def test_edits_preserve_unparsed_text(text: str) -> None:
    for seed in range(40):
        _edit_all(parse_report(text), seed)


def test_edits_preserve_heading_positions() -> None:
    for seed in range(40):
        for edited in _edit_all(parse_report(FREE_TEXT_REPORTS[0]), seed).values():
            assert edited.text.startswith("HISTORY: Left effusion. TECHNIQUE: Two views. FINDINGS:")
            assert "near the clip. It is new." in edited.text


@pytest.mark.data
def test_edits_of_real_reports(openi_csv: Path) -> None:
    """Check all edits of real reports and the share of reports to which each operator applies."""
    texts = [study.text for study in read_openi(openi_csv) if len(study.text) <= MAX_REPORT_CHARS][300:500]
    applied = dict.fromkeys(ERROR_OPERATORS, 0)
    for seed, text in enumerate(texts):
        report = parse_report(text)
        assert report.text.replace(" ", "") == text.replace(" ", "")
        for tag in _edit_all(report, seed):
            applied[tag] += 1
    shares = {tag: count / len(texts) for tag, count in applied.items()}
    print(shares)
    assert len(texts) == 200
    assert shares["false_prediction"] > 0.99
    assert shares["omission"] > 0.1
    assert shares["incorrect_location"] > 0.15
    assert shares["incorrect_severity"] > 0.1
    assert shares["incorrect_comparison"] > 0.05
    assert applied["omission_of_comparison"] > 0
