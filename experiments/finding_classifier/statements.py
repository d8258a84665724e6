"""Names, descriptions and generated statements, with the finding that each reports, to fit the classifier on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from experiments.finding_classifier.descriptions import (
    WRITERS,
    described_findings,
    near_misses,
    no_reports,
    other_statements,
    plain_statements,
)
from radreward.io.artifacts import fingerprint
from radreward.models.finding_classifier import OTHER
from radreward.synthesis.fact_sampling import sample_fact, sample_facts, sample_findings
from radreward.synthesis.grammar import fact_sentence, render_report
from radreward.synthesis.noun_phrases import capitalize_first, noun_phrase
from radreward.synthesis.report_prose import prose_sentence
from radreward.synthesis.report_styles import mixed_style
from radreward.text.facts import Fact, Sentence
from radreward.text.finding_states import STATES
from radreward.text.findings import FINDINGS
from radreward.text.read_names import READ_NAMES, SIMILAR_NAMES

ANY = "any"
"""In place of the key of a finding: a statement that reports one which is not known, or several."""
NORMAL_KINDS = ("filler", "unchanged", "normal", "denial")
PROSE_KINDS = ("technique", "quality", "limit", "artefact", "advice", "indication", "comparison")
CARRIERS = (
    "There is {n}.",
    "{n} is seen.",
    "{n} on the left.",
    "Right {n}.",
    "Mild {n}.",
    "Small amount of {n} is present on the right side.",
    "New {n} since the prior study.",
    "The film shows {n} in the left lower lobe.",
    "Findings suggest {n}.",
    "{n} has increased.",
    "Large {n} at the right base.",
    "{n} is again noted, unchanged.",
)
"""Sentences for names, so that what they say beside the finding does not matter."""
CARRIERS_PER_NAME = 3


class LabelledStatement(NamedTuple):
    """A statement."""

    text: str
    finding: str
    """Key of the finding that it reports, `ANY`, `OTHER`, or empty."""
    kind: str


def read_wording() -> dict[str, tuple[str, ...]]:
    """Return the lines of each section of wording.txt.

    >>> "The {film} is {grade}." in read_wording()["quality"]
    True
    """
    blocks = re.split(r"^\[", Path(__file__).with_name("wording.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = (block.splitlines() for block in blocks[1:])
    return {title.removesuffix("]"): tuple(line for line in lines if line) for title, *lines in sections}


def generate_statements(per_kind: int, seed: int = 0, writers: Sequence[str] = WRITERS) -> list[LabelledStatement]:
    """Return distinct statements: names, sentences by the grammar, filled lines of wording.txt, and descriptions.txt.

    Args:
        per_kind: Number of draws per kind of wording.txt and of report_prose.txt, of single facts (ten times as many),
            and of reports (a third as many).
        seed: Seed of all sampling.
        writers: Those of descriptions.txt whose texts are added.

    >>> generate_statements(1)[0]
    LabelledStatement(text='pneumothorax', finding='pneumothorax', kind='name')
    """
    rng = Random(f"statements {seed}")
    names = known_names()
    statements = [LabelledStatement(name, key, "name") for name, key in names.items()]
    statements += _in_sentences(names, rng)
    statements += (LabelledStatement(text, key, "description") for text, key in described_findings(*writers).items())
    statements += (LabelledStatement(text, "", "plain") for text in (*plain_statements(*writers), *SIMILAR_NAMES))
    statements += (LabelledStatement(text, "", "near miss") for text in near_misses())
    statements += (LabelledStatement(text, "", "no report") for text in no_reports())
    statements += (LabelledStatement(text, OTHER, "other finding") for text in other_statements())
    statements += [*_facts(10 * per_kind, rng), *_report_sentences(per_kind // 3, rng), *_filled_lines(per_kind, rng)]
    return list({entry.text.lower(): entry for entry in reversed(statements) if entry.text}.values())[::-1]


def known_names() -> dict[str, str]:
    """Return the names, and the sentences for states of organs, in lowercase → key of the finding.

    >>> known_names()["pleural effusion"], known_names()["the left lung has collapsed."]
    ('effusion', 'collapse')
    """
    names = {name.lower(): key for key, finding in FINDINGS.items() for name in finding.plain_names}
    names |= {name.removeprefix("*"): key for name, key in READ_NAMES.items()}
    states = ((key, sentence) for key, sentences in STATES.items() for sentence in sentences)
    return names | {
        " ".join(sentence.replace("{side}", "left").replace("{adverb}", "").split()).lower(): key
        for key, sentence in states
    }


def statements_version(statements: Iterable[LabelledStatement]) -> str:
    """Return a hash of statements and their findings, so that a test tells when to fit the classifier again."""
    return fingerprint([[*entry] for entry in statements])


def _in_sentences(names: Mapping[str, str], rng: Random) -> Iterator[LabelledStatement]:
    """Yield names of findings in a few of the `CARRIERS` each."""
    for name, key in names.items():
        if not name.endswith("."):
            for carrier in rng.sample(CARRIERS, CARRIERS_PER_NAME):
                yield LabelledStatement(capitalize_first(carrier.replace("{n}", name)), key, "name in a sentence")


def _facts(count: int, rng: Random) -> Iterator[LabelledStatement]:
    for key in sample_findings(rng, tuple(FINDINGS), count):
        yield LabelledStatement(fact_sentence(sample_fact(key, rng), rng).text, key, "fact")


def _report_sentences(count: int, rng: Random) -> Iterator[LabelledStatement]:
    for _ in range(count):
        style = mixed_style(rng)
        for sentence in render_report(sample_facts(rng), rng, style).sentences:
            yield LabelledStatement(sentence.text, _reported(sentence), "report")


def _reported(sentence: Sentence) -> str:
    """Return the finding that a sentence reports, `ANY` if there are several, or nothing."""
    findings = {fact.finding for fact in sentence.facts if fact.positive or fact.change == "resolved"}
    return findings.pop() if len(findings) == 1 else ANY if findings else ""


def _filled_lines(count: int, rng: Random) -> Iterator[LabelledStatement]:
    wording = read_wording()
    for kind in (*PROSE_KINDS, *NORMAL_KINDS):
        for _ in range(count):
            yield LabelledStatement(_filled(rng.choice(wording[kind]), wording, rng)[0], "", kind)
    for kind in PROSE_KINDS:
        for _ in range(count):
            yield LabelledStatement(prose_sentence(kind, rng).text, "", kind)
    for _ in range(10 * count):
        text, named = _filled(rng.choice(wording["finding"]), wording, rng)
        yield LabelledStatement(text, named[0] if len(named) == 1 else ANY, "finding")


def _filled(line: str, wording: dict[str, tuple[str, ...]], rng: Random) -> tuple[str, list[str]]:
    """Return a line with names and words in its slots, each drawn anew, and the findings of the names."""
    named: list[str] = []

    def words(slot: re.Match[str]) -> str:
        if slot[1] != "n":
            return rng.choice(wording[slot[1]])
        named.append(rng.choice(tuple(FINDINGS)))
        return _name(named[-1], rng)

    return capitalize_first(re.sub(r"\{(\w+)\}", words, line)), named


def _name(key: str, rng: Random) -> str:
    """Return a name of a finding, or a phrase with its details."""
    if rng.random() < 0.5:
        return rng.choice(FINDINGS[key].plain_names)
    fact = sample_fact(key, rng)
    return noun_phrase(Fact(key, location=fact.location, severity=fact.severity), rng).text
