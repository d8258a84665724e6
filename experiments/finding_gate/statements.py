"""Generated statements that report a finding, or none, to fit the gate of findings on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from experiments.finding_gate.descriptions import WRITERS, described_findings, plain_statements
from radreward.synthesis.fact_sampling import sample_fact, sample_facts, sample_findings
from radreward.synthesis.grammar import fact_sentence, render_report
from radreward.synthesis.noun_phrases import capitalize_first, noun_phrase
from radreward.synthesis.report_prose import prose_sentence
from radreward.synthesis.report_styles import mixed_style
from radreward.text.facts import Fact, Sentence
from radreward.text.findings import FINDINGS

NORMAL_KINDS = ("filler", "unchanged", "normal", "denial")
PROSE_KINDS = ("technique", "quality", "limit", "artefact", "advice", "indication", "comparison")


class LabelledStatement(NamedTuple):
    """A statement; `finding` is True if it reports a finding."""

    text: str
    finding: bool
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
    """Return distinct statements: sentences by the grammar, filled lines of wording.txt, and descriptions.txt.

    Args:
        per_kind: Number of draws per kind of wording.txt and of report_prose.txt, of single facts (ten times as many),
            and of reports (a third as many).
        seed: Seed of all sampling.
        writers: Those of descriptions.txt whose texts are added.

    >>> generate_statements(1)[0].kind
    'fact'
    """
    rng = Random(f"finding gate {seed}")
    statements = [*_facts(10 * per_kind, rng), *_report_sentences(per_kind // 3, rng), *_filled_lines(per_kind, rng)]
    statements += (LabelledStatement(_as_sentence(text), True, "description") for text in described_findings(*writers))
    statements += (LabelledStatement(text, False, "plain") for text in plain_statements(*writers))
    return list({entry.text: entry for entry in statements if entry.text}.values())


def _facts(count: int, rng: Random) -> Iterator[LabelledStatement]:
    for key in sample_findings(rng, tuple(FINDINGS), count):
        yield LabelledStatement(fact_sentence(sample_fact(key, rng), rng).text, True, "fact")


def _report_sentences(count: int, rng: Random) -> Iterator[LabelledStatement]:
    for _ in range(count):
        style = mixed_style(rng)
        for sentence in render_report(sample_facts(rng), rng, style).sentences:
            yield LabelledStatement(sentence.text, _reports_finding(sentence), "report")


def _reports_finding(sentence: Sentence) -> bool:
    return any(fact.positive or fact.change == "resolved" for fact in sentence.facts)


def _as_sentence(text: str) -> str:
    return text if text.endswith(".") else f"{capitalize_first(text)}."


def _filled_lines(count: int, rng: Random) -> Iterator[LabelledStatement]:
    wording = read_wording()
    for kind in (*PROSE_KINDS, *NORMAL_KINDS):
        for _ in range(count):
            yield LabelledStatement(_filled(rng.choice(wording[kind]), wording, rng), False, kind)
    for kind in PROSE_KINDS:
        for _ in range(count):
            yield LabelledStatement(prose_sentence(kind, rng).text, False, kind)
    for _ in range(10 * count):
        yield LabelledStatement(_filled(rng.choice(wording["finding"]), wording, rng), True, "finding")


def _filled(line: str, wording: dict[str, tuple[str, ...]], rng: Random) -> str:
    """Return a line with names and words in its slots, each drawn anew."""
    return capitalize_first(
        re.sub(r"\{(\w+)\}", lambda slot: _name(rng) if slot[1] == "n" else rng.choice(wording[slot[1]]), line)
    )


def _name(rng: Random) -> str:
    """Return a name of a finding, or a phrase with its details."""
    key = rng.choice(tuple(FINDINGS))
    if rng.random() < 0.5:
        return rng.choice(FINDINGS[key].plain_names)
    fact = sample_fact(key, rng)
    return noun_phrase(Fact(key, location=fact.location, severity=fact.severity), rng).text
