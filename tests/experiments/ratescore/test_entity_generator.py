from itertools import pairwise

import pytest

from experiments.ratescore.entity_generator import generate_annotated_sentences
from radreward.text.lexicon import find_phrases
from radreward.types import ENTITY_TYPES


def test_generate_annotated_sentences_offsets_are_correct() -> None:
    types = set()
    for text, entities in generate_annotated_sentences(400, seed=1):
        for entity in entities:
            assert text[entity.start : entity.end] == entity.name
            types.add(entity.type)
        assert all(first.end <= second.start for first, second in pairwise(entities))
    assert types == set(ENTITY_TYPES)


def test_generate_annotated_sentences_is_reproducible() -> None:
    assert list(generate_annotated_sentences(20, seed=1)) == list(generate_annotated_sentences(20, seed=1))
    assert list(generate_annotated_sentences(20, seed=1)) != list(generate_annotated_sentences(20, seed=2))
    assert list(generate_annotated_sentences(10, seed=1)) == list(generate_annotated_sentences(20, seed=1))[:10]


def heads(texts: set[str]) -> set[str]:
    kinds = ("finding", "abnormal")
    return {phrase.head for text in texts for phrase in find_phrases(text) if phrase.kind in kinds}


def test_generate_annotated_sentences_holds_out_names() -> None:
    train = {text for text, _ in generate_annotated_sentences(100, seed=1)}
    test = {text for text, _ in generate_annotated_sentences(100, seed=1, split="test")}
    assert not train & test
    test_only = heads(test) - heads(train)
    assert len(test_only) > 40


def test_generate_annotated_sentences_zero_count_raises() -> None:
    with pytest.raises(ValueError, match="Expected `count` to be >= 1 but got 0"):
        next(generate_annotated_sentences(0))
