"""Devices that a sentence calls removed or replaced, also as a list: "removal of the tracheal and feeding tubes"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS

_WORD = (
    r"(?:an?|all|both|bilateral|her|his|large-bore|left|left-sided|old|prior|previous|right|right-sided|the|these|two)"
)
_LIST = rf"(?P<devices>#+(?:(?:, (?:and )?| and | & |/)(?:{_WORD} )*#+)*)"
_BEEN = r"(?:(?:all|also|both|has|have|had|is|are|was|were|been|now|since|subsequently) )*"
_REMOVED = r"(?:dc'?e?d|d/c'?e?d|discontinued|explanted|extracted|pulled|removed|retrieved|taken out|withdrawn)"
_INTENDED = r"(?:advised|considered|pending|planned|recommended|requested|scheduled|suggested)"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:discontinuation|explantation|extraction|removal|withdrawal) of (?:{_WORD} )*{_LIST}"
        r"(?!,? (?:are|is|remains?|stable|unchanged|in (?:place|position|situ))\b)(?!#)",
        rf"{_LIST},? {_BEEN}{_REMOVED}"
        r"(?=\s?(?:[.,;:)]|$|and\b(?! (?:its|now|the (?:end|tip))\b)|in the interval|interval|since|today|yesterday))",
        rf"{_LIST} {_BEEN}(?:changed|converted|exchanged|replaced|swapped|switched) (?:by|for|out for|to|with)\b",
        rf"\b(?:conversion|exchange|replacement) of (?:{_WORD} )*{_LIST} (?:by|for|to|with)\b",
        rf"{_LIST} removal\b(?! (?:is |was |are )?{_INTENDED})",
    )
)
_NOT_DONE = re.compile(
    r"\b(?:await(?:ing|s)?|before|consider|for|not|one of (?:the |two |three )*(?:\w+ )?|pending|planned|prior to|"
    r"recommend)"
    rf"(?: {_WORD})* ?$"
)
"""Words before a removal that has not happened, or that is about one of several devices."""


def with_removed_devices(facts: Sequence[Fact], masked: str, names: Sequence[tuple[int, int]]) -> list[Fact]:
    """Return facts in which devices that a sentence calls removed or replaced by others are resolved.

    Args:
        facts: Facts of a sentence.
        masked: The lowercase sentence in which the names of findings are masked by #.
        names: Start and end of the name of each fact.

    >>> masked, names = "interval removal of the ### and left ####.", [(24, 27), (37, 41)]
    >>> [fact.change for fact in with_removed_devices([Fact("ett"), Fact("picc")], masked, names)]
    ['resolved', 'resolved']
    >>> facts = with_removed_devices([Fact("cvc"), Fact("picc")], "### exchanged for a ####.", [(0, 3), (20, 24)])
    >>> [fact.polarity for fact in facts]
    ['absent', 'present']
    """
    if not any(FINDINGS[fact.finding].is_device for fact in facts):
        return list(facts)
    spans = [
        match.span("devices")
        for pattern in _PATTERNS
        for match in pattern.finditer(masked)
        if not _NOT_DONE.search(masked, 0, match.start())
    ]
    return [
        Fact(fact.finding, "absent", change="resolved")
        if FINDINGS[fact.finding].is_device and any(start <= first and last <= end for start, end in spans)
        else fact
        for fact, (first, last) in zip(facts, names, strict=True)
    ]
