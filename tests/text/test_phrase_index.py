import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.lexicon import compile_phrases
from radreward.text.mentions import _FINDING_OF_NAME
from radreward.text.phrase_index import PhraseIndex

PHRASES = st.lists(st.text("ab' -1", min_size=1, max_size=6).filter(lambda text: text[0] in "ab1"), min_size=1)


@given(phrases=PHRASES, text=st.text("ab' -1.#_é", max_size=30))
def test_index_finds_what_a_pattern_of_the_phrases_finds(phrases: list[str], text: str) -> None:
    expected = [(match[0], match.start()) for match in compile_phrases(phrases).finditer(text)]
    assert list(PhraseIndex(phrases).find(text)) == expected


def test_index_finds_the_names_of_all_findings_that_a_pattern_finds() -> None:
    names = list(_FINDING_OF_NAME)
    text = ". ".join([*names, *(f"{first} {second}" for first, second in zip(names, names[7:], strict=False))])
    expected = [(match[0], match.start()) for match in compile_phrases(names).finditer(text)]
    assert list(PhraseIndex(names).find(text)) == expected
    assert len(expected) > len(names)


def test_phrase_that_starts_with_a_mark_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"Expected a phrase that starts with a letter or a digit but got '-a'\."):
        PhraseIndex(["-a"])
