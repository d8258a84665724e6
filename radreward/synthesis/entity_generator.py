"""Sentences with their entities, as data to train taggers on: written by grammars that know what they name.

Some of the sentences are those of the report grammar, whose facts say what is denied. The others are put together from
the lexicon by templates, so that many more words are seen, in many more orders. A fifth of the templates, and of the
names beyond those of the report grammar, is held out: sentences to test on have both, sentences to train on neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import resources
from random import Random
from typing import Literal, NamedTuple

from radreward.data.entity_io import TaggedSentence
from radreward.data.split import is_held_out
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence, joint_sentence, normal_sentence
from radreward.synthesis.noun_phrases import capitalize_first
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, remove_related
from radreward.text.lexicon import LexicalPhrase, find_phrases, inflections, load_lexicon
from radreward.text.sentence_parser import parse_sentence
from radreward.text.sentence_templates import ALL_CLEAR_STATEMENTS, FILLER_SENTENCES, NORMAL_STATEMENTS
from radreward.types import Entity

Split = Literal["train", "test"]

HELD_OUT_FRACTION = 0.2
"""Of the templates, and of the names that the report grammar does not know, of sentences to test on."""

_JOINERS = (". ", "; ", ", ", " and ", ", and ", ". ")
_LATERALITIES = ("left", "right", "bilateral", "left-sided", "right-sided")
_SEVERITIES = (
    "mild",
    "moderate",
    "severe",
    "small",
    "large",
    "minimal",
    "tiny",
    "marked",
    "extensive",
    "slight",
    "trace",
)
_ADVERBS = ("mildly", "moderately", "markedly", "severely", "minimally", "slightly")
_COMMON_NAMES: tuple[str, ...] = tuple(
    noun.removeprefix("*") for entry in FINDINGS.values() for noun in entry.names[:4]
)


class _Clause(NamedTuple):
    """A clause and where its entities stand; offsets and types, and the words by which it is held out."""

    text: str
    spans: tuple[tuple[int, int, str], ...]
    names: tuple[str, ...]
    template: str

    @property
    def held_out(self) -> tuple[bool, bool]:
        """Whether its template and any of its names are."""
        return _is_held_out(self.template), any(
            _is_held_out(name) for name in self.names if name not in _common_heads()
        )


def generate_annotated_sentences(count: int, seed: int = 0, split: Split = "train") -> Iterator[TaggedSentence]:
    """Sentences and their entities; the same for the same seed.

    Args:
        count: How many.
        seed: Decides everything.
        part: Sentences to train on, or to test on with templates and names that no sentence to train on has.

    Raises:
        ValueError: If `count` is less than 1.

    >>> found = next(labelled_sentences(1, seed=3))
    >>> all(found.text[entity.start : entity.end] == entity.name for entity in found.entities)
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
    while True:
        clause = _report_clause(rng) if rng.random() < 0.4 else _template_clause(rng)
        if clause and clause.held_out == ((True, True) if split == "test" else (False, False)):
            return clause


@lru_cache(1)
def _common_heads() -> frozenset[str]:
    """Names that every report uses: a tagger that never saw them would be tested on what nobody would leave out."""
    nouns = (noun.removeprefix("*") for entry in FINDINGS.values() for noun in entry.names)
    return frozenset(phrase.head for noun in nouns for phrase in find_phrases(noun))


def _is_held_out(words: str) -> bool:
    return is_held_out(words, HELD_OUT_FRACTION, "entities")


def _report_clause(rng: Random) -> _Clause | None:
    """A sentence of the report grammar; its facts say which phrases are denied."""
    kind = rng.choices(("fact", "facts", "absent", "normal", "clear", "filler"), (6, 3, 4, 3, 1, 1))[0]
    if kind == "filler":
        return _clause(rng.choice(FILLER_SENTENCES), False)
    if kind == "clear":
        return _clause(rng.choice(ALL_CLEAR_STATEMENTS), True)
    if kind == "normal":
        return _clause(normal_sentence(rng.choice(tuple(NORMAL_STATEMENTS)), rng).text, True)
    keys = remove_related(sample_findings(rng, tuple(FINDINGS), 1 if kind == "fact" else rng.choice((2, 2, 3))))
    facts = [sample_fact(key, rng) for key in keys]
    if kind == "absent":
        facts = [Fact(fact.finding, "absent") for fact in facts]
    elif kind == "facts":
        facts = [fact._replace(polarity="present", change=None) for fact in facts]
    written = fact_sentence(facts[0], rng) if len(facts) == 1 else joint_sentence(facts, rng)
    if parse_sentence(written.text).facts != written.facts:
        return None
    return _clause(written.text, all(fact.polarity == "absent" for fact in facts))


def _clause(text: str, is_denied: bool) -> _Clause | None:
    """A sentence of which all or nothing is denied; generic words alone are no entities unless they are."""
    found = [
        phrase for phrase in find_phrases(text) if is_denied or not (phrase.kind == "generic" and phrase.is_standalone)
    ]
    spans = tuple((phrase.start, phrase.end, _type(phrase, is_denied)) for phrase in found)
    skeleton = text
    for start, end, _ in reversed(spans):
        skeleton = skeleton[:start] + "#" + skeleton[end:]
    skeleton = re.sub(r"#(?:(?:,? (?:and|or|with)|,) #)+", "#", skeleton).lower()
    return _Clause(
        text, spans, tuple(phrase.head for phrase in found if phrase.kind in ("finding", "abnormal")), skeleton
    )


def _type(phrase: LexicalPhrase, is_denied: bool) -> str:
    if phrase.kind in ("location", "device"):
        return "Anatomy"
    if phrase.kind == "normal":
        return "Non-Abnormality"
    kind = "Disease" if phrase.is_disease else "Abnormality"
    return f"Non-{kind}" if is_denied else kind


@lru_cache(1)
def _templates() -> tuple[str, ...]:
    text = resources.files("radreward.synthesis").joinpath("entity_sentences.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def _template_clause(rng: Random) -> _Clause:
    template = rng.choice(_templates())
    text, spans, names = "", [], []
    for piece in re.split(r"(\{\w\})", template):
        if not piece.startswith("{"):
            text += piece
            continue
        for words, kind, head in _fill_slot(piece[1], rng):
            text += words if text.endswith((" ", "/")) or not text else " " + words
            if kind:
                spans.append((len(text) - len(words), len(text), kind))
            if head:
                names.append(head)
    return _Clause(text, tuple(spans), tuple(names), template)


class _Words(NamedTuple):
    text: str
    kind: str | None
    head: str | None


def _fill_slot(slot: str, rng: Random) -> list[_Words]:
    """The words of a slot: one entity, or for some common findings an entity and the body part that it names."""
    words = load_lexicon()
    if slot in "Ff":
        return _finding_words(rng, "Non-" if slot == "f" else "")
    if slot == "g":
        head = rng.choice(words["generic"])
        name = rng.choice(tuple(inflections(head)))
        before = [
            rng.choice(("acute", "focal", "active", "significant", "suspicious", "")),
            _choose_or_empty(rng, words["body"], 0.6),
        ]
        return [_Words(" ".join([*filter(None, before), name]), "Non-Abnormality", head)]
    if slot == "P":
        return [_Words(_location_words(rng), "Anatomy", None)]
    if slot == "V":
        name = rng.choice(words["device"])
        return [_Words(" ".join(filter(None, [_choose_or_empty(rng, _LATERALITIES, 0.3), name])), "Anatomy", None)]
    if slot == "w":
        return [
            _Words(
                rng.choice((*words["normal"], *("normal", "clear", "unremarkable", "within normal limits") * 8)),
                "Non-Abnormality",
                None,
            )
        ]
    head = rng.choice(words["abnormal"])
    name = " ".join(filter(None, [_choose_or_empty(rng, _ADVERBS, 0.3), head]))
    return [_Words(name, "Non-Abnormality" if slot == "y" else "Abnormality", head)]


def _finding_words(rng: Random, sign: str) -> list[_Words]:
    if rng.random() < 0.3:  # a common name, which may say in the same breath where it is
        return _common_name_words(rng.choice(_COMMON_NAMES), sign)
    words = load_lexicon()
    disease = rng.random() < 0.25
    head = rng.choice(words["disease" if disease else "finding"])
    name = rng.choice((head, head, *tuple(inflections(head))[-1:]))
    before = [
        _choose_or_empty(rng, _SEVERITIES, 0.3),
        _choose_or_empty(rng, words["form"], 0.35),
        _choose_or_empty(rng, _LATERALITIES, 0.2),
        _choose_or_empty(rng, words["zone"], 0.15),
        _choose_or_empty(rng, words["body"], 0.15),
    ]
    return [_Words(" ".join([*filter(None, before), name]), sign + ("Disease" if disease else "Abnormality"), head)]


def _common_name_words(noun: str, sign: str) -> list[_Words]:
    """A name of the report grammar: its entities, with the words between them."""
    found: list[_Words] = []
    end = 0
    for phrase in find_phrases(noun):
        if between := noun[end : phrase.start].strip():
            found.append(_Words(between, None, None))
        kind = _type(phrase, bool(sign))
        found.append(
            _Words(
                noun[phrase.start : phrase.end], kind, phrase.head if phrase.kind in ("finding", "abnormal") else None
            )
        )
        end = phrase.end
    if rest := noun[end:].strip():
        found.append(_Words(rest, None, None))
    return found


def _location_words(rng: Random) -> str:
    words = load_lexicon()
    if rng.random() < 0.3:
        return " ".join(filter(None, [_choose_or_empty(rng, _LATERALITIES[:2], 0.4), rng.choice(words["zone"])]))
    organ = rng.choice(
        (*words["organ"], *("lungs", "heart", "heart size", "lung", "mediastinum", "thoracic spine") * 6)
    )
    organ = rng.choice((organ, organ, *tuple(inflections(organ))[-1:]))
    return " ".join(
        filter(None, [_choose_or_empty(rng, _LATERALITIES, 0.2), _choose_or_empty(rng, words["near"], 0.15), organ])
    )


def _choose_or_empty(rng: Random, choices: Sequence[str], share: float) -> str:
    return rng.choice(choices) if rng.random() < share else ""


def _join_clauses(one: _Clause, other: _Clause, rng: Random) -> _Clause:
    """Two clauses as one sentence."""
    joint = rng.choice(_JOINERS)
    before = one.text.rstrip(".") + joint
    if not joint.startswith(".") and other.text[1:2].islower():
        other = other._replace(text=other.text[0].lower() + other.text[1:])
    moved = tuple((start + len(before), end + len(before), kind) for start, end, kind in other.spans)
    return _Clause(before + other.text, one.spans + moved, one.names + other.names, one.template)


def _vary_typography(clause: _Clause, rng: Random) -> TaggedSentence:
    """The sentence in one of the manners of writing."""
    text, spans = clause.text, clause.spans
    if rng.random() < 0.75:
        text = capitalize_first(text)
    if rng.random() < 0.75 and not text.endswith("."):
        text += "."
    manner = rng.random()
    if manner < 0.1:
        text = text.lower()
    elif manner < 0.13:
        text = text.upper()
    elif manner < 0.2:
        number = f"{rng.randint(1, 9)}. "
        text, spans = number + text, tuple((s + len(number), e + len(number), kind) for s, e, kind in spans)
    return TaggedSentence(text, tuple(Entity(text[s:e], kind, s, e) for s, e, kind in spans))
