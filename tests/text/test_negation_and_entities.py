import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.entities import rule_entities
from radreward.text.lexicon import CUE_SECTIONS, cue_pattern, load_lexicon
from radreward.text.negation import (
    _ASSERTION_START,
    _CLAUSE_BREAK,
    _STATING_VERB,
    drop_leading_negation,
    is_inside,
    negated_spans,
)

PHRASES = [phrase for section in CUE_SECTIONS for phrase in load_lexicon()[section]]
WORDS = [
    *("effusion", "edema", ",", ",", ".", ";", "-", "--", "and", "and", "or", "nor", "is", "are", "was", "remains"),
    *("seen", "noted", "mild", "old", "the", "no", "not"),
]
PIECES = st.one_of(st.sampled_from(WORDS), st.sampled_from(PHRASES))
SENTENCES = st.lists(PIECES, max_size=14).map(lambda words: " ".join(words).replace(" ,", ",").replace(" .", "."))


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("No edema.", [" edema."]),
        ("Effusion has resolved.", ["effusion "]),
        ("No effusion, mild edema.", [" effusion"]),
        ("No change in edema.", []),
        ("Pneumonia cannot be excluded.", []),
    ],
)
def test_negated_spans(text: str, negated: list[str]) -> None:
    assert [text.lower()[start:end] for start, end in negated_spans(text)] == negated


def negated_offsets(text: str) -> Iterable[int]:
    """Yield the negated offsets of a lowercase text with single spaces: the rules for one cue at a time."""
    masked = cue_pattern("no negation").sub(lambda match: "#" * len(match[0]), text)
    stops = (cue_pattern("scope end"), _CLAUSE_BREAK)
    for cue in cue_pattern("negation before").finditer(masked):
        yield from range(cue.end(), scope_end(masked, cue.end(), stops))
    for cue in cue_pattern("negation after").finditer(masked):
        start = max([0, *(stop.end() for pattern in stops for stop in pattern.finditer(text, 0, cue.start()))])
        part = text[start : cue.start()]
        if "," in part and not re.search(r",\s+(?:and|or)\s+", part):
            start += part.rindex(",") + 1
        yield from range(start, cue.start())


def scope_end(text: str, start: int, patterns: Iterable[re.Pattern[str]]) -> int:
    stops = [stop.start() for pattern in patterns if (stop := pattern.search(text, start))]
    end = min([len(text), *stops])
    for conjunction in re.compile(r",\s+(?!or\b|nor\b)|\s+and\s+").finditer(text, start, end):
        rest = text[conjunction.end() : end]
        clause = rest if "and" in conjunction[0] else re.split(r",\s", rest, maxsplit=1)[0]
        is_list = re.search(r"\b(?:or|nor)\b", rest)
        if _STATING_VERB.search(clause) or (_ASSERTION_START.match(rest) and not is_list):
            return conjunction.start()
    return end


@given(SENTENCES)
def test_negated_spans_equals_the_rules_for_single_cues(text: str) -> None:
    spans = negated_spans(text)
    expected = set(negated_offsets(text))
    assert {offset for span in spans for offset in range(*span)} == expected
    assert spans == sorted(spans)
    assert {offset for offset in range(len(text)) if is_inside(spans, offset)} == expected


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("There is no definite mass.", "There is a mass."),
        ("No edema.", "Edema."),
        ("There are no nodules", "There are nodules"),
        ("Edema, no effusion.", None),
    ],
)
def test_drop_leading_negation(sentence: str, statement: str | None) -> None:
    assert drop_leading_negation(sentence) == statement


@pytest.mark.parametrize(
    ("sentence", "entities"),
    [
        ("Heart is  not clear", [("Heart", "Anatomy"), ("clear", "Abnormality")]),
        ("The process", []),
        ("No acute process", [("acute process", "Non-Abnormality")]),
        ("Possible pneumonia", [("pneumonia", "Disease")]),
    ],
)
def test_rule_entities(sentence: str, entities: list[tuple[str, str]]) -> None:
    predicted = rule_entities(sentence)
    assert [(entity.name, entity.type) for entity in predicted] == entities
    assert all(sentence[entity.start : entity.end] == entity.name for entity in predicted)
