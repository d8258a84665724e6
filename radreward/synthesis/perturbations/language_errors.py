"""Errors of language and of frame: what MRScore judges beside the facts."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from radreward.synthesis.error_counting import DEGREE, MISSING, PLACE, TYPES, count_errors, radcliq_errors
from radreward.synthesis.perturbations.error_operators import BODY
from radreward.text.facts import AnnotatedReport, Section, Sentence
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import Excerpt
from radreward.text.sentence_templates import HISTORY

MEDICAL = frozenset(
    word.lower() for entry in FINDINGS.values() for noun in entry.nouns for word in re.findall(r"[A-Za-z]{6,}", noun)
)
LAY = {
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
NEAR = {"a": "s", "e": "r", "i": "o", "o": "p", "n": "m", "t": "y", "s": "d", "r": "t", "l": "k", "h": "j"}


def bad_grammar(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Break the grammar or spelling of words that are not medical, in up to three sentences."""
    return _some_sentences(report, rng, _break_grammar)


def bad_terminology(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """Misspell medical terms or put lay words for them, in up to three sentences."""
    return _some_sentences(report, rng, _break_term)


def other_history(report: AnnotatedReport, rng: Random) -> AnnotatedReport | None:
    """State another clinical history."""
    sentences = list(report.sentences)
    places = [i for i, entry in enumerate(sentences) if entry.section == "indication" and not _heads(entry)]
    if not places:
        return None
    entry = sentences[places[0]]
    sentences[places[0]] = entry._replace(text=rng.choice([text for text in HISTORY if text != entry.text]))
    return report._replace(sentences=tuple(sentences))


def mrscore_errors(
    reference: AnnotatedReport, candidate: AnnotatedReport, grammar: bool, terminology: bool
) -> dict[str, int]:
    """The seven yes/no errors of `MRScore`.

    Impression, organs, lesions and completeness follow from the facts of both reports; whether grammar and
    terminology were broken is known to whoever broke them.
    """
    errors = radcliq_errors(count_errors(reference.facts, candidate.facts))
    ours, theirs = _conclusion(reference), _conclusion(candidate)
    conclusion = radcliq_errors(count_errors(ours.facts, theirs.facts))
    return {
        "impression_consistency": int(any(conclusion[tag] for tag in TYPES)),
        "impression_organs": int(_organs(ours) != _organs(theirs)),
        "description_of_lesions": int(errors[PLACE] + errors[DEGREE] > 0),
        "clinical_history": int(_words(reference, "indication") != _words(candidate, "indication")),
        "completeness": int(errors[MISSING] > 0),
        "grammar": int(grammar),
        "medical_terminology": int(terminology),
    }


def _conclusion(report: AnnotatedReport) -> AnnotatedReport:
    """The impression, or the whole report where it has none."""
    own = tuple(entry for entry in report.sentences if entry.section == "impression")
    return AnnotatedReport(own or report.sentences)


def _organs(report: AnnotatedReport) -> set[str]:
    return {FINDINGS[fact.finding].region for fact in report.facts if fact.positive}


def _words(report: AnnotatedReport, section: Section) -> str:
    return " ".join(entry.text for entry in report.sentences if entry.section == section and not _heads(entry))


def _heads(entry: Sentence) -> bool:
    return isinstance(entry, Excerpt) and entry.heads


def _some_sentences(report: AnnotatedReport, rng: Random, edit: Callable[[str, Random], str]) -> AnnotatedReport | None:
    sentences = list(report.sentences)
    order = [i for i, entry in enumerate(sentences) if entry.section in BODY and not _heads(entry)]
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
    lay = [word for word in LAY if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    if lay and rng.random() < 0.4:
        word = rng.choice(lay)
        return re.sub(rf"\b{word}\b", LAY[word], text, count=1, flags=re.IGNORECASE)
    return _misspell(text, rng, medical=True)


def _misspell(text: str, rng: Random, medical: bool) -> str:
    words = [match for match in re.finditer(r"[A-Za-z]{5,}", text) if (match[0].lower() in MEDICAL) == medical]
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
        word = word[:place] + NEAR.get(word[place].lower(), word[place] * 2) + word[place + 1 :]
    return text[: match.start()] + word + text[match.end() :]
