"""Devices that a sentence calls removed or replaced, also as a list: "removal of the tracheal and feeding tubes"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from radreward.text.changes import BEFORE_INTENDED, INTENDED
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS

_WORD = (
    r"(?:an?|all|both|bilateral|her|his|large-bore|left|left-sided|old|prior|previous|right|right-sided|the|these|two)"
)
_LIST = rf"(?P<devices>#+(?:(?:, (?:and )?| and | & |/)(?:{_WORD} )*#+)*)"
_BEEN = r"(?:(?:all|also|both|has|have|had|is|are|was|were|been|now|since|subsequently) )*"
_REMOVED = r"(?:dc'?e?d|d/c'?e?d|discontinued|explanted|extracted|pulled|removed|retrieved|taken out|withdrawn)"
_STAYS = re.compile(r"(?:pulled|withdrawn)[,;] (?:now|the tip|tip|with)\b|(?:pulled|withdrawn) and is ")
_REMOVED_DEVICES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:discontinuation|explantation|extraction|removal) of (?:{_WORD} )*{_LIST}"
        r"(?=\s?(?:[.;)]|$)| (?:in the interval|since|today)\b)",
        rf"{_LIST},? {_BEEN}{_REMOVED}"
        r"(?=\s?(?:[.,;:)]|$|and\b(?! (?:is (?:in|now)|its|now|terminates|the (?:end|tip))\b)|"
        r"in the interval|interval|since|today|yesterday))",
        rf"{_LIST} removal\b(?! (?:is |was |are )?{INTENDED})",
    )
)
_NEW = r"(?:by|for|to|with) (?:[a-z-]+ ){0,3}(?P<new>#+)"
_REPLACED_DEVICES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_LIST} {_BEEN}(?:changed|converted|exchanged|replaced|swapped|switched) (?:out )?{_NEW}",
        rf"\b(?:conversion|exchange|replacement) of (?:{_WORD} )*{_LIST} {_NEW}",
    )
)
_NOT_DONE = re.compile(
    rf"\b(?:{BEFORE_INTENDED}|for|not|one of (?:the |two |three )*(?:\w+ )?|planned|prior to)"
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
    devices = {name: fact.finding for fact, name in zip(facts, names, strict=True) if FINDINGS[fact.finding].is_device}
    if not devices:
        return list(facts)
    spans = [match.span("devices") for match in _matches(_REMOVED_DEVICES, masked)]
    spans += [match.span("devices") for match in _matches(_REPLACED_DEVICES, masked) if match.span("new") in devices]
    removed = {name for name in devices if any(start <= name[0] and name[1] <= end for start, end in spans)}
    staying = {finding for name, finding in devices.items() if name not in removed}
    return [
        Fact(fact.finding, "absent", change="resolved") if name in removed and fact.finding not in staying else fact
        for fact, name in zip(facts, names, strict=True)
    ]


def _matches(patterns: Iterable[re.Pattern[str]], masked: str) -> Iterator[re.Match[str]]:
    for match in chain.from_iterable(pattern.finditer(masked) for pattern in patterns):
        if not _NOT_DONE.search(masked, 0, match.start()) and not _STAYS.search(masked, match.start()):
            yield match
