"""Prose of report generators that states no finding: technique, quality, limits, indication, artefacts and advice."""

from __future__ import annotations

from random import Random

from radreward.synthesis.noun_phrases import capitalize_first, join_words
from radreward.text.facts import AnnotatedReport, Section, Sentence
from radreward.text.findings import FINDINGS
from radreward.text.report_parser import BODY_SECTIONS
from radreward.text.section_files import read_sections

_SENTENCES = read_sections("report_prose.txt", "radreward.synthesis")
_FIRST, _ANYWHERE, _LAST = ("indication", "technique", "comparison"), ("quality", "limit", "artefact"), ("advice",)
_KIND_SHARE = 0.4
"""Share of the kinds of sentences that a report with prose has."""
_LIMITED = ("nodule", "ribfx", "pneumothorax", "consolidation", "effusion", "fracture", "adenopathy", "edema", "mass")
"""Findings that sentences name as requested, or as not assessed."""


def prose_sentence(kind: str, rng: Random, section: Section = "findings") -> Sentence:
    """Return a sentence that states no finding, of a kind of report_prose.txt.

    >>> prose_sentence("limit", Random(0)).facts
    ()
    """
    names = [FINDINGS[key].plain_names[0] for key in rng.sample(_LIMITED, k=3)]
    listed = join_words(names[: rng.randint(1, 3)], rng.choice((" or ", " and ")))
    text = rng.choice(_SENTENCES[kind]).format(list=listed, n=names[0])
    return Sentence(capitalize_first(text), (), section)


def add_prose(report: AnnotatedReport, rng: Random) -> AnnotatedReport:
    """Return a report with some sentences that state no finding, in its first section of findings or impression.

    Indication, technique and comparison come first, advice last, the others anywhere; no error results.
    """
    sections = [sentence.section for sentence in report.sentences if sentence.section in BODY_SECTIONS]
    if not sections:
        return report
    section = sections[0]
    start = next(index for index, entry in enumerate(report.sentences) if entry.section == section)
    end = start + sections.count(section)
    body = [sentence.with_full_stop() for sentence in report.sentences[start:end]]
    first, anywhere, last = (_sample(kinds, rng, section) for kinds in (_FIRST, _ANYWHERE, _LAST))
    for sentence in anywhere:
        body.insert(rng.randrange(len(body) + 1), sentence)
    return report._replace(sentences=(*report.sentences[:start], *first, *body, *last, *report.sentences[end:]))


def _sample(kinds: tuple[str, ...], rng: Random, section: Section) -> list[Sentence]:
    return [prose_sentence(kind, rng, section) for kind in kinds if rng.random() < _KIND_SHARE]
