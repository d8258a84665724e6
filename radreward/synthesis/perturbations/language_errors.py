"""Errors of language and of frame: what MRScore judges beside the facts."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from radreward.synthesis.error_counting import (
    ERROR_TAGS,
    OMISSION,
    WRONG_LOCATION,
    WRONG_SEVERITY,
    count_errors,
    to_radcliq_counts,
)
from radreward.text.facts import AnnotatedReport, Section, Sentence
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import BODY_SECTIONS, PartiallyParsedSentence
from radreward.text.sentence_templates import CLINICAL_HISTORIES

MEDICAL_TERMS = frozenset(
    word.lower() for entry in FINDINGS.values() for noun in entry.names for word in re.findall(r"[A-Za-z]{6,}", noun)
)
LAY_TERMS = {
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
NEIGHBORING_KEYS = {"a": "s", "e": "r", "i": "o", "o": "p", "n": "m", "t": "y", "s": "d", "r": "t", "l": "k", "h": "j"}


def inject_grammar_errors(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Break the grammar or spelling of words that are not medical, in up to three sentences."""
    return _edit_some_sentences(report, rng, _break_grammar)


def inject_terminology_errors(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Misspell medical terms or put lay words for them, in up to three sentences."""
    return _edit_some_sentences(report, rng, _break_term)


def replace_history(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State another clinical history."""
    sentences = list(report.sentences)
    places = [i for i, entry in enumerate(sentences) if entry.section == "indication" and not _heads(entry)]
    if not places:
        return None
    entry = sentences[places[0]]
    sentences[places[0]] = entry._replace(text=rng.choice([text for text in CLINICAL_HISTORIES if text != entry.text]))
    return report._replace(sentences=tuple(sentences))


def mrscore_errors(
    reference: AnnotatedReport, candidate: AnnotatedReport, grammar: bool, terminology: bool
) -> dict[str, int]:
    """The seven yes/no errors of `MRScoreCriteria`.

    Impression, organs, lesions and completeness follow from the facts of both reports; whether grammar and
    terminology were broken is known to whoever broke them.
    """
    errors = to_radcliq_counts(count_errors(reference.facts, candidate.facts))
    ours, theirs = _impression(reference), _impression(candidate)
    conclusion = to_radcliq_counts(count_errors(ours.facts, theirs.facts))
    return {
        "impression_consistency": int(any(conclusion[tag] for tag in ERROR_TAGS)),
        "impression_organs": int(_organs(ours) != _organs(theirs)),
        "description_of_lesions": int(errors[WRONG_LOCATION] + errors[WRONG_SEVERITY] > 0),
        "clinical_history": int(_words(reference, "indication") != _words(candidate, "indication")),
        "completeness": int(errors[OMISSION] > 0),
        "grammar": int(grammar),
        "medical_terminology": int(terminology),
    }


def _impression(report: AnnotatedReport) -> AnnotatedReport:
    """The impression, or the whole report where it has none."""
    own = tuple(entry for entry in report.sentences if entry.section == "impression")
    return AnnotatedReport(own or report.sentences)


def _organs(report: AnnotatedReport) -> set[str]:
    return {FINDINGS[fact.finding].region for fact in report.facts if fact.positive}


def _words(report: AnnotatedReport, section: Section) -> str:
    return " ".join(entry.text for entry in report.sentences if entry.section == section and not _heads(entry))


def _heads(entry: Sentence) -> bool:
    return isinstance(entry, PartiallyParsedSentence) and entry.is_heading


def _edit_some_sentences(
    report: AnnotatedReport, rng: Random, edit: Callable[[str, Random], str]
) -> AnnotatedReport | None:
    sentences = list(report.sentences)
    order = [i for i, entry in enumerate(sentences) if entry.section in BODY_SECTIONS and not _heads(entry)]
    rng.shuffle(order)
    done, wanted = 0, rng.choice((1, 2, 2, 3))
    for i in order:
        text = edit(sentences[i].text, rng)
        if text != sentences[i].text:
            sentences[i] = sentences[i]._replace(text=text)
            done += 1
        if done == wanted:
            break
    return report._replace(sentences=tuple(sentences)) if done else None


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
    lay = [word for word in LAY_TERMS if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    if lay and rng.random() < 0.4:
        word = rng.choice(lay)
        return re.sub(rf"\b{word}\b", LAY_TERMS[word], text, count=1, flags=re.IGNORECASE)
    return _misspell(text, rng, medical=True)


def _misspell(text: str, rng: Random, medical: bool) -> str:
    words = [match for match in re.finditer(r"[A-Za-z]{5,}", text) if (match[0].lower() in MEDICAL_TERMS) == medical]
    if not words:
        return text
    match = rng.choice(words)
    word = match[0]
    place = rng.randrange(1, len(word) - 1)
    kind = rng.randrange(3)
    if kind == 0:
        word = word[:place] + word[place + 1 :]
    elif kind == 1:
        word = word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :]
    else:
        word = word[:place] + NEIGHBORING_KEYS.get(word[place].lower(), word[place] * 2) + word[place + 1 :]
    return text[: match.start()] + word + text[match.end() :]
