"""Names of findings in sentences: articles, number, sizes."""

from random import Random

import pytest

from radreward.synthesis.noun_phrases import SIZED, SIZES, Phrase, fill, noun_phrase
from radreward.text.facts import Fact
from radreward.text.findings import DEGREES, FINDINGS, PLACES


@pytest.mark.parametrize(
    ("phrase", "full"),
    [
        (Phrase("opacity"), "an opacity"),
        (Phrase("small effusion"), "a small effusion"),
        (Phrase("LLL opacity"), "an LLL opacity"),
        (Phrase("PICC"), "a PICC"),
        (Phrase("NG tube"), "an NG tube"),
        (Phrase("cardiomegaly", article=False), "cardiomegaly"),
    ],
)
def test_articles(phrase: Phrase, full: str) -> None:
    assert phrase.full == full


@pytest.mark.parametrize(
    ("words", "plural"),
    [
        ("bibasilar opacities", True),
        ("bullae in both upper lobes", True),
        ("small effusions, left greater than right", True),
        ("fibrosis", False),
        ("cardiomegaly", False),
        ("atelectasis at the lung bases", False),
    ],
)
def test_number(words: str, plural: bool) -> None:
    assert Phrase(words, article=False).plural is plural
    assert not Phrase(words).plural  # "a mass", "an abscess"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("There is {a}.", "There are small effusions."),
        ("There is a new {n}.", "There are new small effusions."),
        ("There is no {n}.", "There are no small effusions."),
        ("There is evidence of {n}.", "There is evidence of small effusions."),
        ("{A} has increased since the prior study.", "Small effusions have increased since the prior study."),
        ("{A} persists without significant change.", "Small effusions persist without significant change."),
    ],
)
def test_verbs_agree(template: str, text: str) -> None:
    assert fill(template, Phrase("small effusions", article=False)) == text


@pytest.mark.parametrize("key", [key for key, finding in FINDINGS.items() if finding.graded])
def test_only_what_has_a_size_is_given_one(key: str) -> None:
    rng = Random(key)
    sized = key in SIZED or FINDINGS[key].region == "pleura"
    for degree in DEGREES:
        first = {noun_phrase(Fact(key, severity=degree), rng).words.split()[0] for _ in range(60)}
        assert bool(first & SIZES) <= sized, first & SIZES


def test_a_phrase_holds_a_name_of_the_finding() -> None:
    for key, finding in FINDINGS.items():
        rng = Random(key)
        for place in PLACES[finding.places] or (None,):
            words = noun_phrase(Fact(key, location=place or None), rng).words
            stems = [noun.removeprefix("*").removeprefix("lung ")[:-1] for noun in finding.nouns]
            assert any(stem in words for stem in stems), (key, words)
