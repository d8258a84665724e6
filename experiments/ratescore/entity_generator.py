"""Sentences with their entities, to train taggers on, written by grammars.

Some sentences are those of the report grammar, whose facts determine negation. The others are filled templates of
lexicon terms, which cover more words in more orders. A fifth of the templates, and of the names beyond those of the
report grammar, is held out: test sentences have both, training sentences neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from radreward.data.entity_io import TaggedSentence
from radreward.data.split import is_held_out
from radreward.synthesis.fact_sampling import sample_fact, sample_findings, sample_plain_fact
from radreward.synthesis.grammar import fact_sentence, joint_sentence, normal_sentence
from radreward.synthesis.noun_phrases import capitalize_first
from radreward.text.entities import phrase_type
from radreward.text.facts import Fact, Sentence
from radreward.text.findings import GENERATED_FINDINGS, remove_related
from radreward.text.lexicon import LexicalPhrase, find_phrases, inflections, load_lexicon
from radreward.text.sentence_parser import sentence_facts
from radreward.text.sentence_templates import ALL_CLEAR_STATEMENTS, FILLER_SENTENCES, NORMAL_STATEMENTS
from radreward.types import Entity

Split = Literal["train", "test"]

HELD_OUT_FRACTION = 0.2
"""Fraction of templates, and of names beyond the report grammar, of test sentences."""

_JOINERS = (". ", "; ", ", ", " and ", ", and ", ". ")
_LATERALITIES = ("left", "right", "bilateral", "left-sided", "right-sided")
_SEVERITIES = (
    *("mild", "moderate", "severe", "small", "large", "minimal"),
    *("tiny", "marked", "extensive", "slight", "trace"),
)
_ADVERBS = ("mildly", "moderately", "markedly", "severely", "minimally", "slightly")
_COMMON_NAMES = tuple(name for finding in GENERATED_FINDINGS.values() for name in finding.plain_names[:4])


class _Clause(NamedTuple):
    """A clause, start, end and type of its entities, and the words that decide its split."""

    text: str
    spans: tuple[tuple[int, int, str], ...]
    names: tuple[str, ...]
    template: str

    @property
    def held_out(self) -> tuple[bool, bool]:
        """Two flags: the template is held out, and any of the names is."""
        names = (name for name in self.names if name not in _grammar_heads())
        return _is_held_out(self.template), any(map(_is_held_out, names))


def generate_annotated_sentences(count: int, seed: int = 0, split: Split = "train") -> Iterator[TaggedSentence]:
    """Yield sentences with their entities, the same for the same seed.

    Args:
        count: Number of sentences.
        seed: Seed of all sampling.
        split: `train`, or `test` with templates and names that no training sentence has.

    Raises:
        ValueError: If `count` is less than 1.

    >>> sentence = next(generate_annotated_sentences(1, seed=3))
    >>> all(sentence.text[entity.start : entity.end] == entity.name for entity in sentence.entities)
    True
    """
    if count < 1:
        raise ValueError(f"Expected `count` to be >= 1 but got {count}.")
    for number in range(count):
        rng = Random(f"entities:{split}:{seed}:{number}")
        clause = _sample_clause(rng, split)
        while rng.random() < 0.15 and len(clause.text) < 120:
            clause = _join_clauses(clause, _sample_clause(rng, split), rng)
        yield _vary_typography(clause, rng)


def _sample_clause(rng: Random, split: Split) -> _Clause:
    held_out = (True, True) if split == "test" else (False, False)
    while True:
        sentence, clause = _report_clause(rng) if rng.random() < 0.4 else (None, _template_clause(rng))
        if clause.held_out == held_out and (sentence is None or sentence_facts(sentence.text) == sentence.facts):
            return clause


@lru_cache(1)
def _grammar_heads() -> frozenset[str]:
    """Return names of the report grammar, which are never held out because every report uses them."""
    names = (name for finding in GENERATED_FINDINGS.values() for name in finding.plain_names)
    return frozenset(phrase.head for name in names for phrase in find_phrases(name))


def _is_held_out(text: str) -> bool:
    return is_held_out(text, HELD_OUT_FRACTION, "entities")


def _report_clause(rng: Random) -> tuple[Sentence | None, _Clause]:
    """Return a sentence of the report grammar as a clause, and as facts if it is used only when they are parsed back.

    Parsing takes long, and most clauses are of the other split.
    """
    kind = rng.choices(("fact", "facts", "absent", "normal", "all clear", "filler"), (6, 3, 4, 3, 1, 1))[0]
    if kind == "filler":
        return None, _clause(rng.choice(FILLER_SENTENCES), is_negated=False)
    if kind == "all clear":
        return None, _clause(rng.choice(ALL_CLEAR_STATEMENTS), is_negated=True)
    if kind == "normal":
        return None, _clause(normal_sentence(rng.choice(tuple(NORMAL_STATEMENTS)), rng).text, is_negated=True)
    keys = remove_related(
        sample_findings(rng, tuple(GENERATED_FINDINGS), 1 if kind == "fact" else rng.choice((2, 2, 3)))
    )
    facts = [sample_plain_fact(key, rng) if kind == "facts" else sample_fact(key, rng) for key in keys]
    if kind == "absent":
        facts = [Fact(fact.finding, "absent") for fact in facts]
    sentence = fact_sentence(facts[0], rng) if len(facts) == 1 else joint_sentence(facts, rng)
    return sentence, _clause(sentence.text, is_negated=all(fact.polarity == "absent" for fact in facts))


def _clause(text: str, is_negated: bool) -> _Clause:
    """Return the clause of a sentence that is negated completely or not at all."""
    phrases = [
        phrase for phrase in find_phrases(text) if is_negated or not (phrase.kind == "generic" and phrase.is_standalone)
    ]
    spans = tuple((phrase.start, phrase.end, phrase_type(phrase, is_negated)) for phrase in phrases)
    template = text
    for start, end, _ in reversed(spans):
        template = template[:start] + "#" + template[end:]
    template = re.sub(r"#(?:(?:,? (?:and|or|with)|,) #)+", "#", template).lower()
    return _Clause(text, spans, tuple(phrase.head for phrase in phrases if _is_name(phrase)), template)


def _is_name(phrase: LexicalPhrase) -> bool:
    return phrase.kind in ("finding", "abnormal")


@lru_cache(1)
def _templates() -> tuple[str, ...]:
    text = Path(__file__).with_name("entity_sentences.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def _template_clause(rng: Random) -> _Clause:
    template = rng.choice(_templates())
    text, spans, names = "", [], []
    for part in re.split(r"(\{\w\})", template):
        if not part.startswith("{"):
            text += part
            continue
        for words in _fill_slot(part[1], rng):
            text += words.text if text.endswith((" ", "/")) or not text else " " + words.text
            if words.type:
                spans.append((len(text) - len(words.text), len(text), words.type))
            if words.head:
                names.append(words.head)
    return _Clause(text, tuple(spans), tuple(names), template)


class _Words(NamedTuple):
    text: str
    type: str | None = None
    """Entity type, or None if the words are no entity."""
    head: str | None = None
    """Name that decides the split."""


def _fill_slot(slot: str, rng: Random) -> list[_Words]:
    """Return the words of a slot: one entity, or for some common findings an entity and its body part."""
    lexicon = load_lexicon()
    if slot in "Ff":
        return _finding_words(rng, is_negated=slot == "f")
    if slot == "g":
        head = rng.choice(lexicon["generic"])
        name = rng.choice(tuple(inflections(head)))
        adjective = rng.choice(("acute", "focal", "active", "significant", "suspicious", ""))
        return [_Words(_join(adjective, _maybe(rng, lexicon["body"], 0.6), name), "Non-Abnormality", head)]
    if slot == "P":
        return [_Words(_location_text(rng), "Anatomy")]
    if slot == "V":
        name = rng.choice(lexicon["device"])
        return [_Words(_join(_maybe(rng, _LATERALITIES, 0.3), name), "Anatomy")]
    if slot == "w":
        frequent = ("normal", "clear", "unremarkable", "within normal limits") * 8
        return [_Words(rng.choice((*lexicon["normal"], *frequent)), "Non-Abnormality")]
    head = rng.choice(lexicon["abnormal"])
    return [_Words(_join(_maybe(rng, _ADVERBS, 0.3), head), "Non-Abnormality" if slot == "y" else "Abnormality", head)]


def _finding_words(rng: Random, is_negated: bool) -> list[_Words]:
    if rng.random() < 0.3:  # a common name, which may include a body part
        return _common_name_words(rng.choice(_COMMON_NAMES), is_negated)
    lexicon = load_lexicon()
    is_disease = rng.random() < 0.25
    head = rng.choice(lexicon["disease" if is_disease else "finding"])
    name = rng.choice((head, head, *tuple(inflections(head))[-1:]))
    modifiers = [
        _maybe(rng, _SEVERITIES, 0.3),
        _maybe(rng, lexicon["form"], 0.35),
        _maybe(rng, _LATERALITIES, 0.2),
        _maybe(rng, lexicon["zone"], 0.15),
        _maybe(rng, lexicon["body"], 0.15),
    ]
    entity_type = "Disease" if is_disease else "Abnormality"
    return [_Words(_join(*modifiers, name), f"Non-{entity_type}" if is_negated else entity_type, head)]


def _common_name_words(name: str, is_negated: bool) -> list[_Words]:
    """Return the entities of a name of the report grammar, and the words between them."""
    words: list[_Words] = []
    end = 0
    for phrase in find_phrases(name):
        if between := name[end : phrase.start].strip():
            words.append(_Words(between))
        head = phrase.head if _is_name(phrase) else None
        words.append(_Words(name[phrase.start : phrase.end], phrase_type(phrase, is_negated), head))
        end = phrase.end
    if rest := name[end:].strip():
        words.append(_Words(rest))
    return words


def _location_text(rng: Random) -> str:
    lexicon = load_lexicon()
    if rng.random() < 0.3:
        return _join(_maybe(rng, _LATERALITIES[:2], 0.4), rng.choice(lexicon["zone"]))
    frequent = ("lungs", "heart", "heart size", "lung", "mediastinum", "thoracic spine") * 6
    organ = rng.choice((*lexicon["organ"], *frequent))
    organ = rng.choice((organ, organ, *tuple(inflections(organ))[-1:]))
    return _join(_maybe(rng, _LATERALITIES, 0.2), _maybe(rng, lexicon["near"], 0.15), organ)


def _maybe(rng: Random, options: Sequence[str], probability: float) -> str:
    return rng.choice(options) if rng.random() < probability else ""


def _join(*words: str) -> str:
    return " ".join(filter(None, words))


def _join_clauses(first: _Clause, second: _Clause, rng: Random) -> _Clause:
    """Return two clauses as one sentence."""
    joiner = rng.choice(_JOINERS)
    before = first.text.rstrip(".") + joiner
    if not joiner.startswith(".") and second.text[1:2].islower():
        second = second._replace(text=second.text[0].lower() + second.text[1:])
    spans = first.spans + _shifted(second.spans, len(before))
    return _Clause(before + second.text, spans, first.names + second.names, first.template)


def _shifted(spans: tuple[tuple[int, int, str], ...], offset: int) -> tuple[tuple[int, int, str], ...]:
    return tuple((start + offset, end + offset, entity_type) for start, end, entity_type in spans)


def _vary_typography(clause: _Clause, rng: Random) -> TaggedSentence:
    """Return the sentence with varied capitals, full stop, case and item number."""
    text, spans = clause.text, clause.spans
    if rng.random() < 0.75:
        text = capitalize_first(text)
    if rng.random() < 0.75 and not text.endswith("."):
        text += "."
    kind = rng.random()
    if kind < 0.1:
        text = text.lower()
    elif kind < 0.13:
        text = text.upper()
    elif kind < 0.2:
        number = f"{rng.randint(1, 9)}. "
        text, spans = number + text, _shifted(spans, len(number))
    return TaggedSentence(
        text, tuple(Entity(text[start:end], entity_type, start, end) for start, end, entity_type in spans)
    )
