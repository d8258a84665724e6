"""Sentences that are hard to read: shared details, alternatives, signs, a finding in two sentences, lists of places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from radreward.synthesis.elaborate_wording import NORMAL_SUBJECTS
from radreward.synthesis.noun_phrases import NounPhrase, capitalize_first, join_words, noun_phrase
from radreward.text.facts import Fact, Section, Sentence
from radreward.text.finding_relations import SHOWN_BY_SIGN
from radreward.text.findings import FINDINGS, GENERATED_FINDINGS, can_mean_same
from radreward.text.locations import LOCATION_SUFFIXES

_MAX_SHARED = 5
"""Maximum number of findings that share a detail in one sentence."""
_WITHOUT_ALTERNATIVES = 3
"""Minimum number of findings that a name can mean for its alternatives to be written."""
_SHARED_DEGREES = {"mild": ("mild", "minimal", "slight"), "moderate": ("moderate",), "severe": ("severe", "marked")}
_SHARED_CHANGES = {
    "new": ("new", "new since the prior study", "newly seen"),
    "worse": ("worse", "worsening", "increased since the prior study", "more prominent than before"),
    "better": ("improved", "improving", "decreased since the prior study", "less prominent than before"),
    "stable": ("unchanged", "stable", "unchanged since the prior study", "without significant change"),
}
_OPEN_LIST = ("There may be {list}.", "Possible {list}.", "Findings may represent {list}.", "Probable {list}.")
_ALTERNATIVE_LIST = ("{A}, {x} versus {y}.", "{A}, either {x} or {y}.", "There is {a}: {x} versus {y}.")
_SIGN_LIST = ("{A} with {s}.", "{A}, shown by {s}.", "There is {a}, with {s}.", "{A} is seen with associated {s}.")
_DENIED_SUBJECTS = {
    keys[0]: NORMAL_SUBJECTS[keys]
    for keys in (("opacity", "consolidation"), ("cardiomegaly",), ("edema", "congestion"), ("fracture",))
}
"""Subjects that are called not normal, by the finding that this states."""


def shared_detail_sentence(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence | None:
    """Return one sentence for facts that share a place, a degree, a change or doubt, or None if they share none.

    >>> facts = [Fact(key, location="left") for key in ("effusion", "ribfx", "subq")]
    >>> shared_detail_sentence(facts, Random(2)).text
    'On the left, there are pleural fluid, rib fractures, and air in the soft tissues.'
    """
    if not 2 <= len(facts) <= _MAX_SHARED or any(_is_unsuitable(fact) for fact in facts):
        return None
    options = [writer(facts, rng) for writer in (_shared_place, _shared_degree, _shared_change, _shared_doubt)]
    texts = [text for text in options if text]
    return Sentence(rng.choice(texts), tuple(facts), section) if texts else None


def _is_unsuitable(fact: Fact) -> bool:
    """Return True for a device, whose place is its tip, and for an absent finding."""
    return not fact.positive or FINDINGS[fact.finding].is_device


def _listed(facts: Sequence[Fact], rng: Random) -> str:
    phrases = [noun_phrase(fact, rng).with_article for fact in facts]
    return join_words(phrases, rng.choice((" and ", ", and ")) if len(phrases) > 2 else " and ")


def _shared_place(facts: Sequence[Fact], rng: Random) -> str | None:
    place = facts[0].location
    if place is None or any(fact.polarity != "present" or fact.location != place or fact.change for fact in facts):
        return None
    without = [fact._replace(location=None) for fact in facts]
    words = rng.choice(LOCATION_SUFFIXES[place])
    if rng.random() < 0.6:
        return f"{capitalize_first(words)}, there are {_listed(without, rng)}."
    return f"{capitalize_first(_listed(without, rng))}, {_all(facts)} {words}."


def _shared_degree(facts: Sequence[Fact], rng: Random) -> str | None:
    degree = facts[0].severity
    if degree is None or any(fact.polarity != "present" or fact.severity != degree or fact.change for fact in facts):
        return None
    without = [fact._replace(severity=None) for fact in facts]
    return f"{capitalize_first(_listed(without, rng))}, {_all(facts)} {rng.choice(_SHARED_DEGREES[degree])}."


def _shared_change(facts: Sequence[Fact], rng: Random) -> str | None:
    change = facts[0].change
    if change not in _SHARED_CHANGES or any(fact.change != change or fact.polarity != "present" for fact in facts):
        return None
    without = [fact._replace(change=None) for fact in facts]
    return f"{capitalize_first(_listed(without, rng))}, {_all(facts)} {rng.choice(_SHARED_CHANGES[change])}."


def _shared_doubt(facts: Sequence[Fact], rng: Random) -> str | None:
    if any(fact.polarity != "uncertain" or fact.change for fact in facts):
        return None
    phrases = [noun_phrase(fact, rng) for fact in facts]
    if any(" with " in phrase.text for phrase in phrases):
        return None
    template = rng.choice(_OPEN_LIST)
    takes_article = template.startswith("There")
    names = [phrase.with_article if takes_article else phrase.text for phrase in phrases]
    return template.format(list=join_words(names, " and "))


def _all(facts: Sequence[Fact]) -> str:
    return "both" if len(facts) == 2 else "all"


def list_of_places(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence | None:
    """Return a sentence that states a finding at several places, or None if the facts differ in another detail.

    >>> opacities = [Fact("opacity", location=place) for place in ("right upper", "left middle")]
    >>> " and " in list_of_places(opacities, Random(0)).text
    True
    """
    places = {fact.location for fact in facts}
    if len(facts) < 2 or len(places) < len(facts) or None in places:
        return None
    first = facts[0]
    if first.polarity != "present" or first.size:
        return None
    if any(fact._replace(location=first.location) != first or _is_unsuitable(fact) for fact in facts):
        return None
    phrase = noun_phrase(first._replace(location=None, change=None), rng)
    words = [rng.choice(LOCATION_SUFFIXES[place]) for place in (fact.location for fact in facts) if place]
    change = f", all {rng.choice(_SHARED_CHANGES[first.change])}" if first.change else ""
    start = rng.choice((f"There is {phrase.with_article}", capitalize_first(phrase.with_article)))
    return Sentence(f"{start} {join_words(words, ' and ')}{change}.", tuple(facts), section)


def alternatives_sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence | None:
    """Return a sentence that names alternatives of a finding, which are no findings of their own, or None.

    >>> alternatives_sentence(Fact("scoliosis"), Random(0)) is None
    True
    """
    options = _alternatives(fact.finding)
    if fact.polarity != "present" or fact.change or fact.size or len(options) < _WITHOUT_ALTERNATIVES:
        return None
    names = [FINDINGS[key].plain_names[0] for key in rng.sample(options, k=2)]
    phrase = noun_phrase(fact, rng).with_article
    template = rng.choice(_ALTERNATIVE_LIST)
    text = template.format(a=phrase, A=capitalize_first(phrase), x=names[0], y=names[1])
    return Sentence(text, (fact,), section)


@cache
def _alternatives(key: str) -> tuple[str, ...]:
    """Return the findings that a name can mean, without its signs."""
    return tuple(
        other
        for other, finding in GENERATED_FINDINGS.items()
        if other != key and other not in SHOWN_BY_SIGN and not finding.is_device and can_mean_same(key, other)
    )


def sign_sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence | None:
    """Return a sentence that states a finding with its signs, which are one finding together, or None if it has none.

    >>> [fact.finding for fact in sign_sentence(Fact("tension", location="left"), Random(1)).facts][0]
    'tension'
    """
    signs = _signs(fact.finding)
    if fact.polarity != "present" or fact.change or not signs:
        return None
    chosen = [Fact(key) for key in rng.sample(signs, k=min(len(signs), rng.choice((1, 1, 2))))]
    phrase = noun_phrase(fact, rng).with_article
    names = join_words([noun_phrase(sign, rng).with_article for sign in chosen], " and ")
    text = rng.choice(_SIGN_LIST).format(a=phrase, A=capitalize_first(phrase), s=names)
    return Sentence(text, (fact, *chosen), section)


@cache
def _signs(key: str) -> tuple[str, ...]:
    return tuple(sign for sign, shown in SHOWN_BY_SIGN.items() if key in shown)


def two_sentences(fact: Fact, rng: Random, section: Section = "findings") -> Sentence | None:
    """Return two sentences about one finding, the second of which states its size or its change, or None.

    >>> two_sentences(Fact("nodule", size=12.0), Random(0)).text.endswith("mm.")
    True
    """
    if fact.polarity != "present" or FINDINGS[fact.finding].is_device:
        return None
    name = FINDINGS[fact.finding].names[rng.random() < 0.3]
    named = NounPhrase(name.removeprefix("*"), takes_article=not name.startswith("*"))
    start, verb, measure = ("These", "are", "measure") if named.is_plural else ("This", "is", "measures")
    if fact.size and not fact.change:
        first, second = fact._replace(size=None), f"{start} {named.text} {measure} {fact.size:g} mm."
    elif fact.change in _SHARED_CHANGES and not fact.size:
        first, change = fact._replace(change=None), rng.choice(_SHARED_CHANGES[fact.change])
        second = f"{start} {named.text} {verb} {change}."
    else:
        return None
    phrase = noun_phrase(first, rng).with_article
    start = rng.choice((f"There is {phrase}.", f"{capitalize_first(phrase)} is seen."))
    return Sentence(f"{start} {second}", (fact,), section)


def denied_normality_sentence(fact: Fact, rng: Random, section: Section = "findings") -> Sentence | None:
    """Return a sentence that calls a body part not normal, or None if this does not state the fact.

    >>> "not" in denied_normality_sentence(Fact("cardiomegaly"), Random(0)).text
    True
    """
    subjects = _DENIED_SUBJECTS.get(fact.finding)
    if subjects is None or fact != Fact(fact.finding):
        return None
    return Sentence(f"{rng.choice(subjects)} not {rng.choice(('normal', 'within normal limits'))}.", (fact,), section)


_SINGLE_WRITERS: tuple[Callable[[Fact, Random, Section], Sentence | None], ...] = (
    alternatives_sentence,
    two_sentences,
    denied_normality_sentence,
)
"""Writers of one fact that add no fact."""


def composed_sentence(facts: Sequence[Fact], rng: Random, section: Section = "findings") -> Sentence | None:
    """Return a composed sentence with exactly these facts, or None if no writer can state them."""
    if len(facts) != 1:
        return list_of_places(facts, rng, section) or shared_detail_sentence(facts, rng, section)
    options = [writer(facts[0], rng, section) for writer in _SINGLE_WRITERS]
    sentences = [option for option in options if option]
    return rng.choice(sentences) if sentences else None


def take_composed(facts: list[Fact], rng: Random, section: Section, probability: float) -> list[Sentence]:
    """Remove facts from the list with a probability, and return composed sentences for them."""
    sentences: list[Sentence] = []
    for group in _groups(facts, rng):
        remaining = [fact for fact in group if fact in facts]
        if len(remaining) < 2 or rng.random() >= probability:
            continue
        chosen = remaining[: rng.randint(2, min(_MAX_SHARED, len(remaining)))]
        if sentence := composed_sentence(chosen, rng, section):
            sentences.append(sentence)
            for fact in chosen:
                facts.remove(fact)
    for fact in list(facts):
        if rng.random() < probability / 2:
            writer = rng.choice((sign_sentence, *_SINGLE_WRITERS))
            if sentence := writer(fact, rng, section):
                sentences.append(sentence)
                facts.remove(fact)
    return sentences


def _groups(facts: Sequence[Fact], rng: Random) -> list[list[Fact]]:
    """Return groups of facts that share a finding, a place, a degree, a change or doubt, in random order."""
    suitable = [fact for fact in facts if not _is_unsuitable(fact)]
    by_detail: dict[tuple[str, object], list[Fact]] = {}
    for fact in suitable:
        for detail, value in zip(("finding", "polarity", "location", "severity", "change"), fact[:5], strict=True):
            if value not in (None, "present"):
                by_detail.setdefault((detail, value), []).append(fact)
    groups = [group for group in by_detail.values() if len(group) > 1]
    rng.shuffle(groups)
    return groups
