from radreward.text.findings import FINDINGS
from radreward.text.lexicon import CUES, PARTS, lexicon, parts, phrases


def test_sections_are_those_that_are_read() -> None:
    assert set(lexicon()) == set(PARTS) | set(CUES)
    assert all(lexicon().values())


def test_phrases_are_words_in_lower_case() -> None:
    for section in lexicon().values():
        for phrase in section:
            assert phrase == phrase.lower().strip()
            assert "\n" not in phrase
            assert len(phrase) < 60


def test_every_name_of_the_grammar_is_known() -> None:
    nouns = {noun.removeprefix("*") for entry in FINDINGS.values() for noun in entry.nouns}
    assert not [noun for noun in nouns if not phrases(noun)]


def test_the_earlier_part_wins() -> None:
    assert parts()["calcified"] == "Y"  # of a granuloma a form, of an aorta a state
    assert parts()["lungs"] == "A"
    assert parts()["pneumonia"] == "D"


def test_a_hyphen_or_letter_ends_no_word() -> None:
    assert not phrases("hearty heart-to-heartless massive")
