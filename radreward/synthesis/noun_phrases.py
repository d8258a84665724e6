"""Phrases that name a finding with its degree and place, and sentences that agree with them in number."""

from __future__ import annotations

import re
from random import Random
from typing import NamedTuple

from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.locations import LOCATION_PREFIXES, LOCATION_SUFFIXES
from radreward.text.severity import SEVERITY_ADVERBS, SEVERITY_WORDS, SIZE_WORDS

_PARTICIPLE_NAME = re.compile(
    "enlarged|dilated|elevated|raised|prominent|increased|hyper(?:expanded|inflated) |tortuous|unfolded|ectatic|"
    "widened|distended|calcified|atherosclerotic|diminished|blunted|displaced|exaggerated"
)
"""Names that begin with such a word take an adverb: "mildly enlarged heart"."""
SIZE_BY_SEVERITY = {"mild": "6 mm", "moderate": "14 mm", "severe": "3.2 cm"}
"""A size follows from the degree, so that other words for a fact never give another size."""
ASYMMETRY = {
    "effusion": "left greater than right",
    "atelectasis": "right greater than left",
    "opacity": "right greater than left",
    "consolidation": "left greater than right",
}
"""Which side is worse follows from the finding, so that other words for a fact never say the contrary."""
FINDINGS_WITH_SIZE = frozenset(
    {"nodule", "mass", "cavity", "bulla", "pericardial", "hiatal", "opacity", "consolidation", "subq"}
)
_VERBS = {"is": " are ", "has": " have ", "persists": " persist ", "remains": " remain "}
_SINGULAR = re.compile(r"(?<!There) (is|has|persists|remains) ")
_PLURAL = re.compile(r"(?:(?<![isu])s|bullae|bronchi) ?$")
"""A name in the plural; "fibrosis", "mass" and "thrombus" are not."""
_MODIFIER = re.compile(r",? (?:in|at|on|of|with|under|adjacent|bilaterally|measuring|left greater|right greater) ")


class NounPhrase(NamedTuple):
    """The name of a finding with its degree and place.

    >>> Phrase("LLL opacity").full, Phrase("bibasilar opacities", article=False).plural
    ('an LLL opacity', True)
    """

    text: str
    takes_article: bool = True
    """Whether it takes one."""

    @property
    def with_article(self) -> str:
        """With its article."""
        if not self.takes_article:
            return self.text
        spelt = self.text.split()[0].isupper()  # "an LLL opacity", "an NG tube"
        return f"{'an' if self.text[0].lower() in ('aefhilmnorsx' if spelt else 'aeiou') else 'a'} {self.text}"

    @property
    def is_plural(self) -> bool:
        """Whether it takes a verb in the plural."""
        return not self.takes_article and bool(_PLURAL.search(_MODIFIER.split(self.text + " ")[0]))


def noun_phrase(fact: Fact, rng: Random) -> NounPhrase:
    """One of the names of a finding, with words for its degree and place."""
    nouns = FINDINGS[fact.finding].names
    noun = rng.choices(nouns, [1 / (1 + rank / 3) for rank in range(len(nouns))])[0]  # the usual names stand first
    article = not noun.startswith("*")
    words = [noun.removeprefix("*")]
    after = ""
    if fact.location:
        where = rng.choice([where for where in (LOCATION_PREFIXES, LOCATION_SUFFIXES) if fact.location in where])
        if fact.severity and _PARTICIPLE_NAME.match(words[0]):
            where = LOCATION_SUFFIXES
        phrase = rng.choice(where[fact.location])
        if where is LOCATION_SUFFIXES or " of the " in noun or " in the " in noun or " under " in noun:
            after = " " + (phrase if where is LOCATION_SUFFIXES else rng.choice(LOCATION_SUFFIXES[fact.location]))
        else:
            words.insert(0, phrase.removesuffix(" lung") if noun.startswith("lung ") else phrase)
            if fact.location.startswith("bilateral") and article:
                words[-1], article = _plural(words[-1]), False
    if fact.severity:
        fitting = [word for word in SEVERITY_WORDS[fact.severity] if _fits(word, fact.finding)]
        words.insert(0, rng.choice(SEVERITY_ADVERBS[fact.severity] if _PARTICIPLE_NAME.match(words[0]) else fitting))
    detail = _detail(fact, rng) if fact.polarity == "present" else ""
    return NounPhrase(" ".join(words) + after + detail, article)


def _detail(fact: Fact, rng: Random) -> str:
    """What only fits some findings and follows from the fact: a size, or which side is worse."""
    if fact.severity and fact.finding in ("nodule", "mass", "cavity") and rng.random() < 0.3:
        return f" measuring {SIZE_BY_SEVERITY[fact.severity]}"
    if fact.location in ("bilateral", "bilateral lower") and fact.finding in ASYMMETRY and rng.random() < 0.25:
        return f", {ASYMMETRY[fact.finding]}"
    return ""


def _fits(word: str, key: str) -> bool:
    """Sizes belong to what has a size; "trace cardiomegaly" is not said."""
    return word not in SIZE_WORDS or key in FINDINGS_WITH_SIZE or FINDINGS[key].region == "pleura"


def _plural(noun: str) -> str:
    if noun.endswith("y"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "h")) else "s")


def fill_template(template: str, phrase: NounPhrase) -> str:
    """A sentence of a template, its verb agreeing with the phrase.

    >>> fill("{A} is seen.", Phrase("bibasilar opacities", article=False)), fill("There is {a}.", Phrase("scar"))
    ('Bibasilar opacities are seen.', 'There is a scar.')
    """
    words, full = phrase.text, phrase.with_article
    text = template.format(n=words, N=capitalize_first(words), a=full, A=capitalize_first(full))
    if not phrase.takes_article:
        text = text.replace("There is a new ", "There is new ")
    if phrase.is_plural:
        text = re.sub(rf"^There is (?=((no|new|no definite|no convincing) )?{re.escape(full)})", "There are ", text)
        text = _SINGULAR.sub(lambda verb: _VERBS[verb[1]], text)
    return text


def capitalize_first(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
