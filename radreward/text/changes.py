"""Words for the change of a finding since a prior study."""

from __future__ import annotations

import re

from radreward.text.facts import Change
from radreward.text.lexicon import compile_phrases

_CHANGE_PHRASES: dict[Change, str] = {
    "resolved": (
        "has resolved; have resolved; resolution of; no longer; has cleared; have cleared; been removed; resolved; "
        "removal of"
    ),
    "new": (
        "new; newly seen; development of; has developed; have developed; has appeared; have appeared; placement of; "
        "has been placed; have been placed; interval appearance of"
    ),
    "worse": (
        "worsening; worsened; worse; interval increase in; has increased; have increased; increasing; progressed; "
        "more prominent than; progression of; enlarging; larger than; "
        "is increased; are increased; increased from; increased in size; increased since"
    ),
    "better": (
        "improving; improved; improvement; interval decrease in; has decreased; have decreased; decreasing; decreased; "
        "less prominent than; clearing of; smaller than"
    ),
    "stable": (
        "unchanged; stable; persists; persist; persistent; similar to prior; no change; no change in; no change of; "
        "no significant change; no significant change in; no significant change of; no interval change; "
        "no significant interval change; "
        "without significant change; without significant interval change; without interval change; "
        "no interval change in; no significant interval change in; not significantly changed"
    ),
}
CHANGE_OF_PHRASE = {phrase: change for change, phrases in _CHANGE_PHRASES.items() for phrase in phrases.split("; ")}
CHANGE = compile_phrases(CHANGE_OF_PHRASE)
"""Pattern of all phrases of change, in lowercase."""
_PRIOR_STUDY = re.compile(r"\b(?:prior|previous|previously|interval|compared|since|before)\b", re.IGNORECASE)


def mentions_change(sentence: str) -> bool:
    """Return True if a sentence mentions a change or a prior study.

    >>> mentions_change("It is larger than on the prior film."), mentions_change("It is large.")
    (True, False)
    """
    return bool(CHANGE.search(sentence.lower()) or _PRIOR_STUDY.search(sentence))
