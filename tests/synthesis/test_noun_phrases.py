"""Tests of noun phrases for findings: articles, number and size words."""

from random import Random

import pytest

from radreward.synthesis.noun_phrases import FINDINGS_WITH_SIZE, NounPhrase, fill_template, noun_phrase
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, MALPOSITIONED
from radreward.text.locations import LOCATIONS
from radreward.text.severity import SEVERITY_WORDS, SIZE_WORDS


@pytest.mark.parametrize(
    ("phrase", "full"),
    [
        (NounPhrase("opacity"), "an opacity"),
        (NounPhrase("small effusion"), "a small effusion"),
        (NounPhrase("LLL opacity"), "an LLL opacity"),
        (NounPhrase("PICC"), "a PICC"),
        (NounPhrase("NG tube"), "an NG tube"),
        (NounPhrase("cardiomegaly", takes_article=False), "cardiomegaly"),
    ],
)
def test_noun_phrase_articles(phrase: NounPhrase, full: str) -> None:
    assert phrase.with_article == full


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
def test_noun_phrase_number(words: str, plural: bool) -> None:
    assert NounPhrase(words, takes_article=False).is_plural is plural
    assert not NounPhrase(words).is_plural  # "a mass", "an abscess"


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
def test_fill_template_verbs_agree(template: str, text: str) -> None:
    assert fill_template(template, NounPhrase("small effusions", takes_article=False)) == text


@pytest.mark.parametrize("key", [key for key, finding in FINDINGS.items() if finding.has_severity])
def test_noun_phrase_size_words_fit_finding(key: str) -> None:
    rng = Random(key)
    sized = key in FINDINGS_WITH_SIZE or FINDINGS[key].region == "pleura"
    for degree in SEVERITY_WORDS:
        first = {noun_phrase(Fact(key, severity=degree), rng).text.split()[0] for _ in range(60)}
        assert bool(first & SIZE_WORDS) <= sized, first & SIZE_WORDS


def test_noun_phrase_contains_a_finding_name() -> None:
    for key, finding in FINDINGS.items():
        rng = Random(key)
        for place in LOCATIONS[finding.location_group] or (None,):
            words = noun_phrase(Fact(key, location=place or None), rng).text
            tubes = [tube for tube, malpositioned in MALPOSITIONED.items() if malpositioned == key]
            bone = ["fracture"] if key == "ribfx" else []  # at a rib
            names = [name for named in (key, *tubes, *bone) for name in FINDINGS[named].names]
            stems = [name.removeprefix("*").removeprefix("lung ")[:-1] for name in names]
            assert any(stem in words for stem in stems), (key, words)
