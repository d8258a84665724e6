"""Noun phrases of findings with severity and location, and templates filled with the matching verb forms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from radreward.text.bone_levels import LEVELS
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS, MALPOSITIONED
from radreward.text.locations import LOCATION_PREFIXES, LOCATION_SUFFIXES, mirror_side
from radreward.text.severity import SEVERITY_ADVERBS, SEVERITY_WORDS, SIZE_WORDS

_PARTICIPLE_NAME = re.compile(
    "enlarged|dilated|elevated|raised|prominent|increased|hyper(?:expanded|inflated) |tortuous|unfolded|ectatic|"
    "widened|distended|calcified|atherosclerotic|diminished|blunted|displaced|exaggerated"
)
"""Start of names that need an adverb of severity, such as "mildly enlarged heart"."""
_ASYMMETRY = {
    "effusion": "left greater than right",
    "atelectasis": "right greater than left",
    "opacity": "right greater than left",
    "consolidation": "left greater than right",
}
"""Asymmetry stated for a bilateral finding; fixed, so that all paraphrases of a fact agree."""
FINDINGS_WITH_SIZE = frozenset(
    {"nodule", "mass", "cavity", "bulla", "pericardial", "hiatal", "opacity", "consolidation", "subq"}
)
_CHANGE_ADJECTIVES = {
    "new": ("new", "newly seen"),
    "worse": ("increasing", "worsening"),
    "better": ("improving", "decreasing", "improved"),
    "stable": ("unchanged", "stable", "persistent"),
}
"""Adjectives of a change, for findings in a list."""
_ZONE_WORDS = {
    "lower": ("lower lobe", "basilar", "lung base"),
    "upper": ("upper lobe", "apical"),
    "middle": ("mid lung",),
    "perihilar": ("perihilar",),
}
"""Words for a zone after the words for both sides."""
_PLACED_NAME = re.compile(
    r" (?:of|in|under|with|from) |^\*?(?:multiple|diffuse|widespread)|^\*?(?:pulmonary|lung|apical) "
)
"""Names that do not follow a location."""
_PLAIN_TUBE_SHARE = 0.6
"""Share of the malpositioned tubes with the plain name of the tube, whose location states the malposition."""
_SIZE_PREFIXES = ("", "", "", "approximately ", "about ", "up to ")
_VERBS = {"is": " are ", "has": " have ", "persists": " persist ", "remains": " remain "}
_SINGULAR = re.compile(r"(?<!There) (is|has|persists|remains) ")
_PLURAL = re.compile(r"(?:(?<![isu])s|bullae|bronchi) ?$")
"""End of a plural name; "fibrosis", "mass" and "thrombus" are singular."""
_SEVERAL_OR_NAMED = re.compile(r" of |(?<![isu])s$| rib$| vertebra$")
"""Names of several fractures, or with a bone, which a level of bones does not follow."""
_MODIFIER = re.compile(r",? (?:in|at|on|of|with|under|adjacent|bilaterally|measuring|left greater|right greater) ")


class NounPhrase(NamedTuple):
    """The name of a finding with severity and location.

    >>> NounPhrase("LLL opacity").with_article, NounPhrase("bibasilar opacities", takes_article=False).is_plural
    ('an LLL opacity', True)
    """

    text: str
    takes_article: bool = True

    @property
    def with_article(self) -> str:
        """The phrase with its indefinite article, if it takes one."""
        if not self.takes_article:
            return self.text
        is_spelled = self.text.split()[0].isupper()  # "an LLL opacity", "an NG tube"
        vowels = "aefhilmnorsx" if is_spelled else "aeiou8"
        takes_an = self.text[0].lower() in vowels or self.text.startswith(("11 ", "18 "))
        return f"{'an' if takes_an else 'a'} {self.text}"

    @property
    def is_plural(self) -> bool:
        """True if the phrase takes a verb in the plural."""
        return not self.takes_article and bool(_PLURAL.search(_MODIFIER.split(self.text + " ")[0]))


def noun_phrase(fact: Fact, rng: Random) -> NounPhrase:
    """Return a name of a finding with words for its severity and location."""
    names = _names(fact, rng)
    name = rng.choices(names, [1 / (1 + rank / 3) for rank in range(len(names))])[0]  # common names come first
    takes_article = not name.startswith("*")
    words = [name.removeprefix("*")]
    suffix = ""
    if fact.location:
        table = rng.choice([t for t in (LOCATION_PREFIXES, LOCATION_SUFFIXES) if fact.location in t])
        if fact.severity and _PARTICIPLE_NAME.match(words[0]):
            table = LOCATION_SUFFIXES
        phrase = rng.choice(table[fact.location])
        if table is LOCATION_SUFFIXES:
            suffix = f" {phrase}"
        elif any(preposition in name for preposition in (" of the ", " in the ", " under ")):
            suffix = f" {rng.choice(LOCATION_SUFFIXES[fact.location])}"
        else:
            words.insert(0, phrase.removesuffix(" lung") if name.startswith("lung ") else phrase)
            if fact.location.startswith("bilateral") and takes_article:
                words[-1], takes_article = _plural(words[-1]), False
    is_measured = False
    if fact.size and rng.random() < 0.5:
        words.insert(0, _size_words(fact.size, rng))
        is_measured = True
    if fact.severity:
        is_participle = _PARTICIPLE_NAME.match(words[0])
        adverb = rng.choice(SEVERITY_ADVERBS[fact.severity]) if is_participle else ""
        words.insert(0, adverb or _severity_adjective(fact, rng).strip())
    detail = "" if is_measured else _detail(fact, rng)
    return NounPhrase(" ".join(words) + suffix + detail, takes_article)


def _names(fact: Fact, rng: Random) -> tuple[str, ...]:
    """Return the names of a finding; for a malpositioned tube with a location, sometimes those of the tube.

    At a level of bones, they are names of one fracture, also without the bone, as in "fracture of the left fifth rib".
    """
    for tube, malpositioned in MALPOSITIONED.items():
        if fact.finding == malpositioned and fact.location and rng.random() < _PLAIN_TUBE_SHARE:
            return FINDINGS[tube].names
    names = FINDINGS[fact.finding].names
    if fact.location not in LEVELS:
        return names
    single = tuple(name for name in names if not _SEVERAL_OR_NAMED.search(name))
    return single + (FINDINGS["fracture"].names if fact.finding == "ribfx" else ())


def are_both_sides(first: Fact, second: Fact) -> bool:
    """Return True if two facts state the left and the right side of a finding, in one zone, without change and size.

    Two ribs of one level are named apart.

    >>> are_both_sides(Fact("effusion", location="left"), Fact("effusion", location="right", severity="mild"))
    True
    """
    same = first.finding == second.finding and not (first.change or second.change or first.size or second.size)
    if first.location in LEVELS:
        return False
    return same and first.location != second.location and mirror_side(first.location or "") == second.location


def joint_phrase(facts: Sequence[Fact], rng: Random) -> NounPhrase:
    """Return a phrase for a present fact, with its change as an adjective, or for both sides of a finding.

    >>> sides = [Fact("effusion", location="left", severity="severe"), Fact("effusion", location="right")]
    >>> joint_phrase(sides, Random(1)).text
    'right and massive left layering pleural effusions'
    """
    names = [name for name in FINDINGS[facts[0].finding].names if not _PLACED_NAME.search(name)]
    if len(facts) == 1 or not names:
        first, *rest = (_changed_phrase(fact, rng) for fact in facts)
        return first._replace(text=" and ".join([first.text, *(phrase.with_article for phrase in rest)]))
    name = rng.choice(names)
    zone = (facts[0].location or "").partition(" ")[2]
    sides = sorted(facts, key=lambda fact: fact.severity is not None)  # a severity reaches the sides after it
    if sides[0].severity == sides[1].severity and rng.random() < 0.5:
        sides[1] = sides[1]._replace(severity=None)
    words = [_severity_adjective(fact, rng) + (fact.location or "").split(" ")[0] for fact in sides]
    zone_words = rng.choice(_ZONE_WORDS[zone]) if zone else ""
    text = " ".join(filter(None, (" and ".join(words), zone_words, name.removeprefix("*"))))
    return NounPhrase(text if name.startswith("*") else _plural(text), takes_article=False)


def _changed_phrase(fact: Fact, rng: Random) -> NounPhrase:
    phrase = noun_phrase(fact, rng)
    if not fact.change:
        return phrase
    return phrase._replace(text=f"{rng.choice(_CHANGE_ADJECTIVES[fact.change])} {phrase.text}")


def _severity_adjective(fact: Fact, rng: Random) -> str:
    """Return an adjective of severity and a space; empty if no severity is stated."""
    if not fact.severity:
        return ""
    return rng.choice([word for word in SEVERITY_WORDS[fact.severity] if _fits(word, fact.finding)]) + " "


def _detail(fact: Fact, rng: Random) -> str:
    """Return the size, or sometimes an asymmetry of a bilateral finding; empty if there is none."""
    if fact.size:
        return f" measuring {rng.choice(_SIZE_PREFIXES)}{_size_words(fact.size, rng)}"
    if (
        fact.polarity == "present"
        and fact.location in ("bilateral", "bilateral lower")
        and fact.finding in _ASYMMETRY
        and rng.random() < 0.25
    ):
        return f", {_ASYMMETRY[fact.finding]}"
    return ""


def _size_words(size: float, rng: Random) -> str:
    """Return a size in mm or in cm."""
    return f"{size:g} mm" if size < 30 and rng.random() < 0.7 else f"{size / 10:g} cm"


def _fits(word: str, finding: str) -> bool:
    """Return True if an adjective fits a finding; words of size fit only findings with a size."""
    return word not in SIZE_WORDS or finding in FINDINGS_WITH_SIZE or FINDINGS[finding].region == "pleura"


def _plural(name: str) -> str:
    if name.endswith("y"):
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("s", "x", "h")) else "s")


def fill_template(template: str, phrase: NounPhrase) -> str:
    """Return the sentence of a template; the verb agrees with the phrase.

    >>> fill_template("{A} is seen.", NounPhrase("bibasilar opacities", takes_article=False))
    'Bibasilar opacities are seen.'
    >>> fill_template("There is {a}.", NounPhrase("scar"))
    'There is a scar.'
    """
    text, full = phrase.text, phrase.with_article
    sentence = template.format(n=text, N=capitalize_first(text), a=full, A=capitalize_first(full))
    if not phrase.takes_article:
        sentence = sentence.replace("There is a new ", "There is new ")
    if phrase.is_plural:
        sentence = re.sub(
            rf"^There is (?=((no|new|no definite|no convincing) )?{re.escape(full)})", "There are ", sentence
        )
        sentence = _SINGULAR.sub(lambda verb: _VERBS[verb[1]], sentence)
    return sentence


def join_words(words: Sequence[str], last_joiner: str) -> str:
    """Return words as a list with commas, with `last_joiner` before the last one.

    >>> join_words(["edema", "scar", "mass"], " or ")
    'edema, scar or mass'
    """
    return ", ".join(words[:-1]) + (last_joiner if len(words) > 1 else "") + words[-1]


def capitalize_first(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
