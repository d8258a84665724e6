import pytest

from experiments.ratescore.triads import TRIAD_OPERATORS, generate_triads, triads_from_sentences
from radreward.text.sentence_parser import parse_sentence


def test_generate_triads_rewrite_preserves_fact_and_opposite_changes_it() -> None:
    triads = list(generate_triads(120, seed=3))
    assert {triad.operator for triad in triads} == set(TRIAD_OPERATORS)
    for triad in triads:
        (original,), (rewrite,), (opposite,) = (parse_sentence(text).facts for text in triad[1:])
        assert rewrite == original
        assert triad.rewrite != triad.original
        if triad.operator == "negation":
            assert opposite.polarity != original.polarity
        elif triad.operator == "synonym":
            assert opposite.finding != original.finding
            assert opposite[1:] == original[1:]
        else:
            field = "location" if triad.operator == "laterality" else "severity"
            assert getattr(opposite, field) not in (None, getattr(original, field))
            assert opposite._replace(**{field: getattr(original, field)}) == original


def test_generate_triads_is_reproducible() -> None:
    assert list(generate_triads(12, 5)) == list(generate_triads(12, 5)) != list(generate_triads(12, 6))
    with pytest.raises(ValueError, match="Expected `count` to be >= 1 but got 0"):
        generate_triads(0)


REAL = [
    "There is a small right pleural effusion best seen on the lateral view.",
    "No pneumothorax.",
    "Large left pneumothorax with some of this and that.",
    "The patient was seen twice.",
]


def test_triads_from_sentences_preserve_other_words() -> None:
    triads = list(triads_from_sentences(REAL, seed=2))
    assert {triad.original for triad in triads} == set(REAL[:3])
    for triad in triads:
        before, same, after = (parse_sentence(text).facts for text in triad[1:])
        assert same == before != after
        if triad.original == REAL[0]:
            assert triad.opposite.endswith("best seen on the lateral view.")
    assert ("negation", "No pneumothorax.", "Pneumothorax.") in {(t.operator, t.original, t.opposite) for t in triads}
