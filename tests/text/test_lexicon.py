from radreward.text.findings import FINDINGS
from radreward.text.lexicon import CATEGORY_CODES, CUE_SECTIONS, find_phrases, load_lexicon, phrase_categories


def test_sections_are_those_that_are_read() -> None:
    assert set(load_lexicon()) == set(CATEGORY_CODES) | set(CUE_SECTIONS)
    assert all(load_lexicon().values())


def test_phrases_are_words_in_lower_case() -> None:
    for section in load_lexicon().values():
        for phrase in section:
            assert phrase == phrase.lower().strip()
            assert "\n" not in phrase
            assert len(phrase) < 60


def test_every_name_of_the_grammar_is_known() -> None:
    nouns = {noun.removeprefix("*") for entry in FINDINGS.values() for noun in entry.names}
    assert not [noun for noun in nouns if not find_phrases(noun)]


def test_the_earlier_part_wins() -> None:
    assert phrase_categories()["calcified"] == "Y"  # of a granuloma a form, of an aorta a state
    assert phrase_categories()["lungs"] == "A"
    assert phrase_categories()["pneumonia"] == "D"


def test_a_hyphen_or_letter_ends_no_word() -> None:
    assert not find_phrases("hearty heart-to-heartless massive")
