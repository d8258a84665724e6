"""Edits that keep the meaning of a report, for sensitivity probes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random

from radreward.sensitivity.error_edits import MISPLACED
from radreward.sensitivity.probe_reports import ReportSentences, report_text, sample_device_sentence
from radreward.synthesis.grammar import fact_sentence, joint_sentence, normal_sentence
from radreward.synthesis.noun_phrases import capitalize_first
from radreward.text.abbreviations import ABBREVIATIONS
from radreward.text.findings import FINDINGS, is_related
from radreward.text.sentence_templates import FILLER_SENTENCES, NORMAL_STATEMENTS

_SYNONYMS: Mapping[str, str] = {
    "unchanged": "stable",
    "seen": "visualized",
    "noted": "identified",
    "prior study": "previous examination",
    "slight": "mild",
    "minimal": "mild",
    "marked": "severe",
    "tiny": "very small",
    "cardiomegaly": "cardiac enlargement",
    "pulmonary edema": "edema of the lungs",
    "pleural effusion": "pleural fluid collection",
    "nodule": "nodular density",
    "evident": "apparent",
    "terminating": "ending",
    "present": "visible",
}


def reword_sentences(report: ReportSentences, rng: Random) -> str:
    """Return the report with every sentence reworded. Locations of devices are still stated."""
    texts = []
    for sentence in report:
        if len(sentence.facts) > 1:
            reworded = joint_sentence(sentence.facts, rng)
        elif sentence.facts[0].location in MISPLACED:
            reworded = sample_device_sentence(sentence.facts[0], rng)
        else:
            reworded = fact_sentence(sentence.facts[0], rng)
        texts.append(reworded.text)
    return " ".join(texts)


def _shuffle_sentences(report: ReportSentences, rng: Random) -> str:
    return report_text(tuple(rng.sample(report, k=len(report))))


def _replace_synonyms(report: ReportSentences, rng: Random) -> str:
    return _replace_phrases(report_text(report), {**_SYNONYMS, **{new: old for old, new in _SYNONYMS.items()}})


def _abbreviate(report: ReportSentences, rng: Random) -> str:
    return _replace_phrases(report_text(report), {long: short for short, long in reversed(ABBREVIATIONS.items())})


def _vary_white_space(report: ReportSentences, rng: Random) -> str:
    """Return the report with one line per sentence and some double spaces."""
    return "\n".join(re.sub(" ", lambda _: rng.choice((" ", "  ")), sentence.text) for sentence in report)


def _change_case(report: ReportSentences, rng: Random) -> str:
    return rng.choice((str.upper, str.lower))(report_text(report))


def _merge_sentences(report: ReportSentences, rng: Random) -> str:
    """Return the report with every two neighboring sentences joined by a semicolon."""
    texts = [sentence.text for sentence in report]
    pairs = zip(texts[::2], texts[1::2], strict=False)
    merged = [f"{first.removesuffix('.')}; {_lower_first(second)}" for first, second in pairs]
    return " ".join(merged + texts[2 * len(merged) :])


def _lower_first(text: str) -> str:
    """Return a text with a lower-case first letter, unless the first word is an abbreviation."""
    first_word = text.split(" ", 1)[0]
    return text if len(first_word) > 1 and first_word.isupper() else text[:1].lower() + text[1:]


def _split_sentences(report: ReportSentences, rng: Random) -> str:
    """Return the report with one sentence per finding."""
    texts = []
    for sentence in report:
        if len(sentence.facts) > 1:
            texts += [fact_sentence(fact, rng).text for fact in sentence.facts]
        else:
            texts.append(sentence.text)
    return " ".join(texts)


def _add_normal_statements(report: ReportSentences, rng: Random) -> str:
    """Return the report with two correct normal statements about regions without a finding."""
    positive = [fact.finding for sentence in report for fact in sentence.facts if fact.positive]
    regions = {FINDINGS[key].region for key in positive}
    options = [
        keys
        for keys in NORMAL_STATEMENTS
        if not any(FINDINGS[key].region in regions or any(is_related(key, other) for other in positive) for key in keys)
    ]
    statements = [normal_sentence(keys, rng).text for keys in rng.sample(options, k=2)]
    return " ".join([report_text(report), *statements])


def _add_technique_remark(report: ReportSentences, rng: Random) -> str:
    return f"{rng.choice(FILLER_SENTENCES)} {report_text(report)}"


def _replace_phrases(text: str, replacements: Mapping[str, str]) -> str:
    pattern = r"\b(?:" + "|".join(sorted(map(re.escape, replacements), key=len, reverse=True)) + r")\b"

    def replacement(match: re.Match[str]) -> str:
        new = replacements[match[0].lower()]
        return capitalize_first(new) if match[0][0].isupper() else new

    return re.sub(pattern, replacement, text, flags=re.IGNORECASE)


INVARIANT_EDITS: dict[str, Callable[[ReportSentences, Random], str]] = {
    "paraphrase": reword_sentences,
    "reordering": _shuffle_sentences,
    "synonym": _replace_synonyms,
    "abbreviation": _abbreviate,
    "whitespace": _vary_white_space,
    "case": _change_case,
    "merging": _merge_sentences,
    "splitting": _split_sentences,
    "normal statement": _add_normal_statements,
    "technique remark": _add_technique_remark,
}
"""Name of each probe → edit of a report that changes no finding."""
