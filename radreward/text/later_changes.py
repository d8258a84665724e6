"""Changes of findings that the next sentence states, as in "A left effusion. It has increased."."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from radreward.text.changes import CHANGE, CHANGE_OF_PHRASE, change_of
from radreward.text.facts import Change, Fact, Sentence
from radreward.text.findings import FINDINGS
from radreward.text.read_names import VOLUMES
from radreward.text.shared_details import SharedDetails

_NOUN = r"(?:abnormalit(?:y|ies)|appearances?|changes?|collections?|findings?|lesions?|opacit(?:y|ies)|process)"
_SUBJECT = (
    rf"(?:(?P<one>it|this(?: {_NOUN})?)|(?P<two>both)(?: of (?:these|them))?|all(?: of (?:these|them))?|they|those|"
    rf"these(?: {_NOUN})?|(?:the )?(?:overall )?(?:amount|appearances?|degree|extent|findings|size|volume))"
)
"""Words for findings of the sentence before."""
_STATEMENT = re.compile(
    rf"{_SUBJECT} (?:(?:again|also|both|now|since|\w+ly) )?"
    r"(?P<predicate>(?:appears?|are|has|have|is|looks?|remains?)\b[^,;]*)"
)
_DIRECTIONS: dict[str, Change] = {
    **dict.fromkeys(("better", "decrease", "decreased", "improved", "improvement", "smaller"), "better"),
    **dict.fromkeys(
        ("bigger", "increase", "increased", "larger", "progressed", "progression", "worse", "worsened", "worsening"),
        "worse",
    ),
}
"""Words that state a change only where nothing else is meant."""
_BARE_CHANGE = re.compile(
    r"(?:(?:a|clear|definite|essentially|further|interval|little|marked|mild|moderate|no|not|overall,?|significant(?:ly)?|"
    rf"slight|some) )*(?P<word>change|changed|resolution|resolved|stable|unchanged|{'|'.join(_DIRECTIONS)})"
    r"(?: ?(?:[.;]|$)| (?:(?:as |when )?compared|from|since|than (?:before|on|previously)|"
    r"in (?:the )?(?:appearance|extent|interval|size))\b)"
)
"""A sentence without a subject, as in "no change since May"."""
_LARGER_OR_SMALLER = re.compile(r"(?:\w+ ){1,3}(?P<word>better|bigger|larger|smaller|worse) ?\.?$")
_BEFORE_CHANGE = re.compile(
    r"(?:appears?|are|has|have|is|looks?|remains?)"
    r"(?: (?:again|also|been|much|now|since|slight|somewhat|to be|to have|\w+ly))* ?"
)
"""A verb and adverbs."""
_OTHER = re.compile(
    r"\b(?:can|could|else|expected|given|might|otherwise|possibl[ey]|previously|probably|stable to|that|unclear|was|"
    r"were|whether|which|who|(?:than|on|in) the (?:left|right))\b"
)
"""In a predicate: doubt, the past, something else, or a comparison of sides."""
_MOVED = re.compile(r"\b(?:out|pulled|repositioned|withdrawn)\b")
"""A device that is still there: it was mentioned before."""


class LaterChange(NamedTuple):
    """A change that a sentence states of findings before it."""

    words: str
    is_of_one: bool = False
    is_of_two: bool = False

    def of(self, fact: Fact) -> Change | None:
        """Return the change of a finding; a change of the volumes of the lungs says nothing of low ones."""
        is_device = FINDINGS[fact.finding].is_device
        if fact.finding in VOLUMES or (is_device and _MOVED.search(self.words)):
            return None
        change = change_of(self.words, is_device)
        found = _LARGER_OR_SMALLER.match(self.words) or _BARE_CHANGE.match(self.words)
        if change is None and found:
            change = _DIRECTIONS.get(found["word"])
        return "stable" if change and self.words.startswith(("no ", "not ")) else change


def later_change(sentence: str) -> LaterChange | None:
    """Return the change that a lowercase sentence states of findings before it, or None.

    >>> later_change("both have decreased since may.")
    LaterChange(words='have decreased since may.', is_of_one=False, is_of_two=True)
    >>> later_change("this patient has improved."), later_change("unchanged cardiac silhouette.")
    (None, None)
    """
    if _BARE_CHANGE.match(sentence):
        return LaterChange(sentence)
    found = _STATEMENT.match(sentence)
    if not found or _OTHER.search(predicate := found["predicate"]):
        return None
    stated = list(CHANGE.finditer(predicate))
    before = _BEFORE_CHANGE.match(predicate)
    is_first = stated and before and stated[0].start() <= before.end()
    is_one_change = len({CHANGE_OF_PHRASE[match[0]] for match in stated}) == 1
    if (is_first and is_one_change) or _LARGER_OR_SMALLER.match(predicate):
        return LaterChange(predicate, found["one"] is not None, found["two"] is not None)
    return None


def with_later_change(sentences: Sequence[Sentence], following: str) -> list[Sentence]:
    """Return sentences whose last findings have the change that the next lowercase sentence states of them.

    "It" is the only finding of the last sentence; "both" are those of the last two if each has one, on one side.

    >>> [sentence] = with_later_change([Sentence("A scar.", (Fact("scar"),))], "it is larger than before.")
    >>> sentence.facts[0].change
    'worse'
    """
    changed = list(sentences)
    change = later_change(following)
    if change is None or not changed:
        return changed
    if change.is_of_one and _num_positive(changed[-1]) != 1:
        return changed
    number = 2 if change.is_of_two and list(map(_num_positive, changed[-2:])) == [1, 1] else 1
    if any((fact.location or "").startswith("bilateral") for fact in changed[-1].facts):
        number = 1
    for index in range(-number, 0):
        facts = (SharedDetails(change=change.of(fact)).complete(fact) for fact in changed[index].facts)
        changed[index] = changed[index]._replace(facts=tuple(facts))
    return changed


def _num_positive(sentence: Sentence) -> int:
    return sum(fact.positive for fact in sentence.facts)
