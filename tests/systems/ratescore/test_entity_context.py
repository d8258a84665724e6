from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.systems.ratescore.entity_context import MAX_PHRASE, TYPE_PREFIXES, contextualize
from radreward.systems.ratescore.taggers import RuleTagger


def phrases(text: str) -> list[str]:
    return contextualize("phrase", text, RuleTagger().tag([text])[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Left pleural effusion.", ["Left pleural effusion"]),
        ("The heart is enlarged.", ["heart is enlarged"] * 2),
        ("Collapse of the left upper lobe.", ["Collapse of the left upper lobe"] * 2),
        # Negated findings, and body parts next to them, are separate.
        ("No effusion.", [TYPE_PREFIXES["Non-Abnormality"] + "effusion"]),
        ("Heart normal.", [TYPE_PREFIXES["Anatomy"] + "Heart", TYPE_PREFIXES["Non-Abnormality"] + "normal"]),
        # A clause ends between them.
        ("Nodule; heart.", ["Nodule", TYPE_PREFIXES["Anatomy"] + "heart"]),
        # Each body part joins the nearest finding.
        ("Enlarged heart, fracture of rib.", ["Enlarged heart"] * 2 + ["fracture of rib"] * 2),
        # Too large a gap.
        ("Nodule that has grown since last year, heart.", ["Nodule", TYPE_PREFIXES["Anatomy"] + "heart"]),
    ],
)
def test_phrase_context_joins_finding_and_body_part(text: str, expected: list[str]) -> None:
    assert phrases(text) == expected


def test_name_and_type_contexts() -> None:
    text = "The heart is enlarged."
    entities = RuleTagger().tag([text])[0]
    assert contextualize("name", text, entities) == ["heart", "enlarged"]
    assert contextualize("type", text, entities) == [TYPE_PREFIXES["Anatomy"] + "heart", "enlarged"]
    assert contextualize("phrase", text, []) == []


WORDS = [
    "left",
    "heart",
    "effusion",
    "no",
    "nodule",
    "of",
    "the",
    "rib",
    "enlarged",
    "normal",
    ",",
    ".",
    "base",
    "mild",
]


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_phrase_contains_its_name_within_one_clause(words: list[str]) -> None:
    text = " ".join(words)
    entities = RuleTagger().tag([text])[0]
    for entity, read in zip(entities, phrases(text), strict=True):
        assert entity.name in read
        phrase = read.removeprefix(TYPE_PREFIXES.get(entity.type, ""))
        assert phrase in text
        assert phrase == entity.name or (
            len(phrase) <= MAX_PHRASE and entity.type in ("Anatomy", "Abnormality", "Disease")
        )
