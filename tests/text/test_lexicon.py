import re

from hypothesis import given
from hypothesis import strategies as st

from radreward.text.findings import FINDINGS
from radreward.text.lexicon import (
    CATEGORY_CODES,
    CUE_SECTIONS,
    compile_phrases,
    find_phrases,
    load_lexicon,
    phrase_categories,
)


def test_load_lexicon_has_expected_sections() -> None:
    assert set(load_lexicon()) == set(CATEGORY_CODES) | set(CUE_SECTIONS)
    assert all(load_lexicon().values())


def test_lexicon_phrases_are_lowercase() -> None:
    for section in load_lexicon().values():
        for phrase in section:
            assert phrase == phrase.lower().strip()
            assert "\n" not in phrase
            assert len(phrase) < 60


def test_find_phrases_recognizes_every_finding_name() -> None:
    names = {name for finding in FINDINGS.values() for name in finding.plain_names}
    assert not [name for name in names if not find_phrases(name)]


def test_phrase_categories_prefers_first_section() -> None:
    assert phrase_categories()["calcified"] == "Y"  # form of a granuloma, state of an aorta
    assert phrase_categories()["lungs"] == "A"
    assert phrase_categories()["pneumonia"] == "D"


def test_find_phrases_matches_complete_words_only() -> None:
    assert not find_phrases("hearty heart-to-heartless massive")


@given(
    phrases=st.lists(st.text("ab -", min_size=1, max_size=5).filter(lambda text: text[0] in "ab"), min_size=1),
    text=st.text("ab -.", max_size=20),
)
def test_compile_phrases_matches_the_longest_phrase_at_each_word(phrases: list[str], text: str) -> None:
    longest_first = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    plain = re.compile(r"(?<![\w-])(?=\w)(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w-]|'\w)")

    assert [match.span() for match in compile_phrases(phrases).finditer(text)] == [
        match.span() for match in plain.finditer(text)
    ]
