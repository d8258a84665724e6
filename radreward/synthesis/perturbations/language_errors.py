"""Errors of grammar, terminology and clinical history, which MRScore counts in addition to errors of facts."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from radreward.criteria.error_counting import (
    ERROR_TAGS,
    OMISSION,
    WRONG_LOCATION,
    WRONG_SEVERITY,
    count_errors,
    to_radcliq_counts,
)
from radreward.text.facts import AnnotatedReport, Section
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS
from radreward.text.report_parser import BODY_SECTIONS, is_heading
from radreward.text.sentence_templates import CLINICAL_HISTORIES

_MEDICAL_TERMS = frozenset(
    word.lower()
    for finding in GENERATED_FINDINGS.values()
    for name in finding.names
    for word in re.findall(r"[A-Za-z]{6,}", name)
)
_LAY_TERMS = {
    "pneumothorax": "popped lung",
    "effusion": "water pocket",
    "effusions": "water pockets",
    "cardiomegaly": "big heart disease",
    "atelectasis": "lung shrinkage",
    "consolidation": "lung solidness",
    "edema": "lung wetness",
    "pneumonia": "lung cold",
    "fracture": "crack",
    "opacity": "white stuff",
    "opacities": "white stuff",
    "catheter": "hose",
}
_NEIGHBORING_KEYS = {"a": "s", "e": "r", "i": "o", "o": "p", "n": "m", "t": "y", "s": "d", "r": "t", "l": "k", "h": "j"}


def inject_grammar_errors(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Break grammar or spelling of common words in up to three sentences; return None if no sentence changes."""
    return _edit_some_sentences(report, rng, _break_grammar)


def inject_terminology_errors(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Misspell medical terms or use lay terms in up to three sentences; return None if no sentence changes."""
    return _edit_some_sentences(report, rng, _break_term)


def replace_history(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State another clinical history; return None if the report has none."""
    sentences = list(report.sentences)
    for index, sentence in enumerate(sentences):
        if sentence.section == "indication" and not is_heading(sentence):
            text = rng.choice([text for text in CLINICAL_HISTORIES if text != sentence.text])
            sentences[index] = sentence._replace(text=text)
            return report._replace(sentences=tuple(sentences))
    return None


def mrscore_errors(
    reference: AnnotatedReport, candidate: AnnotatedReport, has_grammar_errors: bool, has_terminology_errors: bool
) -> dict[str, int]:
    """Return the seven binary errors of `MRScoreCriteria`.

    Errors of impression, organs, lesions and completeness are computed from the facts of both reports. The caller knows
    which errors of grammar and terminology it injected.
    """
    errors = to_radcliq_counts(count_errors(reference.facts, candidate.facts))
    expected, stated = _impression(reference), _impression(candidate)
    impression_errors = to_radcliq_counts(count_errors(expected.facts, stated.facts))
    return {
        "impression_consistency": int(any(impression_errors[tag] for tag in ERROR_TAGS)),
        "impression_organs": int(_organs(expected) != _organs(stated)),
        "description_of_lesions": int(errors[WRONG_LOCATION] + errors[WRONG_SEVERITY] > 0),
        "clinical_history": int(_section_text(reference, "indication") != _section_text(candidate, "indication")),
        "completeness": int(errors[OMISSION] > 0),
        "grammar": int(has_grammar_errors),
        "medical_terminology": int(has_terminology_errors),
    }


def _impression(report: AnnotatedReport) -> AnnotatedReport:
    """Return the impression, or the full report if it has none."""
    impression = tuple(sentence for sentence in report.sentences if sentence.section == "impression")
    return AnnotatedReport(impression or report.sentences)


def _organs(report: AnnotatedReport) -> set[str]:
    return {FINDINGS[fact.finding].region for fact in report.facts if fact.positive}


def _section_text(report: AnnotatedReport, section: Section) -> str:
    return " ".join(entry.text for entry in report.sentences if entry.section == section and not is_heading(entry))


def _edit_some_sentences(
    report: AnnotatedReport, rng: Random, edit: Callable[[str, Random], str]
) -> AnnotatedReport | None:
    sentences = list(report.sentences)
    indices = [i for i, entry in enumerate(sentences) if entry.section in BODY_SECTIONS and not is_heading(entry)]
    rng.shuffle(indices)
    num_edited, limit = 0, rng.choice((1, 2, 2, 3))
    for i in indices:
        text = edit(sentences[i].text, rng)
        if text != sentences[i].text:
            sentences[i] = sentences[i]._replace(text=text)
            num_edited += 1
        if num_edited == limit:
            break
    return report._replace(sentences=tuple(sentences)) if num_edited else None


def _break_grammar(text: str, rng: Random) -> str:
    edits = (
        lambda: re.sub(r"\b(is|are|has|have) ", "", text, count=1),
        lambda: text.replace(" is ", " are ", 1) if " is " in text else text.replace(" are ", " is ", 1),
        lambda: re.sub(r"\b(\w+) ", r"\1 \1 ", text, count=1),
        lambda: _misspell(text, rng, medical=False),
        lambda: text.replace("There is", "It have", 1).replace("No ", "Not no ", 1),
    )
    return rng.choice(edits)()


def _break_term(text: str, rng: Random) -> str:
    lay = [word for word in _LAY_TERMS if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    if lay and rng.random() < 0.4:
        word = rng.choice(lay)
        return re.sub(rf"\b{word}\b", _LAY_TERMS[word], text, count=1, flags=re.IGNORECASE)
    return _misspell(text, rng, medical=True)


def _misspell(text: str, rng: Random, medical: bool) -> str:
    words = [match for match in re.finditer(r"[A-Za-z]{5,}", text) if (match[0].lower() in _MEDICAL_TERMS) == medical]
    if not words:
        return text
    match = rng.choice(words)
    word = match[0]
    at = rng.randrange(1, len(word) - 1)
    kind = rng.randrange(3)
    if kind == 0:
        word = word[:at] + word[at + 1 :]
    elif kind == 1:
        word = word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
    else:
        word = word[:at] + _NEIGHBORING_KEYS.get(word[at].lower(), word[at] * 2) + word[at + 1 :]
    return text[: match.start()] + word + text[match.end() :]
