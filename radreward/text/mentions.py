"""Names of findings in a sentence, and states of body parts that are findings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from radreward.text.findings import FINDINGS
from radreward.text.measurements import HEART_RATIO
from radreward.text.phrase_index import PhraseIndex
from radreward.text.read_names import READ_NAMES, Mention, states_of_parts
from radreward.text.spelling import spellings
from radreward.text.unstated import NO_FINDING

_PLURAL = re.compile(r"(?<![suio])(?<!lung)s$")


def _name_forms(name: str) -> Iterator[str]:
    """Yield the lowercase forms of a name: as it is, in the plural or the singular, in both spellings."""
    plain = name.removeprefix("*")
    forms = [plain, plain + ("es" if plain.endswith(("s", "x", "h")) else "s")]
    if plain.endswith("y"):
        forms.append(plain[:-1] + "ies")
    if name.startswith("*") and _PLURAL.search(plain):
        forms.append(plain[:-3] + "y" if plain.endswith("ies") else plain[:-1])
    for form in forms:
        yield from spellings(form.lower())


_FINDING_OF_NAME: dict[str, str] = {
    form: key for key, finding in FINDINGS.items() for name in finding.names for form in _name_forms(name)
}
_FINDING_OF_NAME |= {form: key for name, key in READ_NAMES.items() for form in _name_forms(name)}
_FINDING = PhraseIndex(_FINDING_OF_NAME)
_ONE = re.compile(r"\ba(?:nother)? (?:\w+ ){0,2}(?P<one>one) (?=at|in|on|over)")
"""A pronoun for the finding before it."""
_ZONE = re.compile(r"(?:(?<=\bleft )|(?<=\bright )|(?<=\bbilateral )|bi)(?:apical|basal|basilar) ")
_ZONES = frozenset({"left upper", "left lower"})
_PLACES = frozenset({"perihilar", "retrocardiac"})
"""First words of names that are a place: the name without them is one, too."""
_DEGREE = "borderline"
"""A degree at the start or the end of names, as in "borderline heart size"."""


def find_mentions(lower: str) -> list[Mention]:
    """Return the names of findings in a lowercase sentence, and the states of body parts, in order.

    Of a name and a state with common words, the first holds, then the longer one; in "fracture of a rib" the state.
    """
    ignored = [match.span() for match in NO_FINDING.finditer(lower)]
    names = [_mention_of_name(name, start, lower) for name, start in _FINDING.find(lower)]
    names += [Mention("ratio", *match.span()) for match in HEART_RATIO.finditer(lower)]
    found = dict.fromkeys(states_of_parts(lower))
    states = [state for state in found if not any(_overlap(state, name) and _holds(name, state) for name in names)]
    names = [name for name in names if not any(_overlap(state, name) for state in states)]
    mentions = sorted([*names, *states], key=lambda mention: mention.start)
    mentions = [entry for entry in mentions if not any(start <= entry.start < end for start, end in ignored)]
    return list(_with_pronouns(mentions, lower))


def _with_pronouns(mentions: list[Mention], lower: str) -> Iterator[Mention]:
    """Yield the mentions, and "one" for the finding before it, as in "no nodule on the left but a small one here"."""
    pronouns = [(match.start("one"), match.end("one")) for match in _ONE.finditer(lower)] if mentions else []
    for number, mention in enumerate(mentions):
        yield mention
        last = mentions[number + 1].start if number + 1 < len(mentions) else len(lower)
        yield from (Mention(mention.finding, *span) for span in pronouns if mention.end <= span[0] < last)


def _mention_of_name(name: str, start: int, lower: str) -> Mention:
    """Return the mention of a name without the place or degree at its start or end, as in "retrocardiac opacity"."""
    key = _FINDING_OF_NAME[name]
    zone = _ZONE.match(lower, start) if _ZONES.issubset(FINDINGS[key].locations) else None
    first, _, rest = name.partition(" ")
    is_detail = first == _DEGREE or (first in _PLACES and _FINDING_OF_NAME.get(rest) == key)
    begin = zone.end() if zone else start + len(first) + 1 if is_detail else start
    return Mention(key, begin, start + len(name.removesuffix(f" {_DEGREE}")))


def _overlap(first: Mention, second: Mention) -> bool:
    return first.start < second.end and second.start < first.end


def _holds(name: Mention, state: Mention) -> bool:
    return (name.start, -name.end) < (state.start, -state.end)
