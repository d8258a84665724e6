"""Names of findings that a sentence mentions without stating them: requests, limits, conditions, alternatives."""

from __future__ import annotations

import re
from collections.abc import Sequence

from radreward.text.findings import can_mean_same
from radreward.text.negation import CLAUSE_STOP

_LIMITED = r"limit(?:s|ed|ing)? (?:for |in |the )*(?:evaluation|assessment|detection)"
_REQUEST = r"(?:evaluate|assess|check|look|search|screen|evaluation|assessment|screening|query) for"
_METHOD = r"(?:plain |chest )?(?:radiograph(?:s|y)?|films?|x-?rays?)"
_LABEL = (
    r"(?:clinical |past |patient |admission )?(?:history|indications?|info|information|details|question|request"
    r"|diagnosis|limitations?|pmh|concern|reason(?: for \w+)?)(?: \w+)?:"
)
_CONCERN = r"(?:clinical|continued|ongoing|persistent) (?:concern|suspicion|worry)"
_MODAL = r"(?:may|might|can|could|would)"
_OF_METHOD = (
    r"(?:accuracy|accurate|(?:in)?sensitive|(?:in)?sensitivity|agreement|specificity|is superior|blind spot|threshold"
    r"|false (?:negatives?|positives?)|predictive value|reference standard|method of choice|lower performance"
    r"|unreliable|validated)"
)
"""Words about methods, and what they are good for after them."""
_CUE_BEFORE = re.compile(
    rf"\b(?:(?:to |please )?{_REQUEST}|(?<!cannot )(?<!not )rule out|(?<!difficult )(?<!hard )to exclude"
    rf"|r/o|query|looking for|asks about|whether the patient has|{_MODAL} miss|misses"
    rf"|(?:to distinguish|to separate|distinguishing)|{_OF_METHOD}(?: \w+){{0,5}}? (?:for|in|to)"
    r"|(?:assessment|detection) of(?=[^.;:]* (?:hampered|limited|reduced|requested|restricted)\b)"
    r"|(?:comment|statement) (?:about|on)|presence or absence of"
    rf"|question of|history of|{_CONCERN} (?:about|for|of)|suspected of|{_LIMITED} (?:of|for)"
    rf"|{_METHOD} (?:does not|do not|can ?not) (?:distinguish|exclude|rule out))\b"
    rf"|^(?:{_LABEL}|(?:please )?exclude\b|should\b|if\b|(?:k/)?[ch]/o\b)"
    r"|^(?:any|(?:is|are) there)\b(?=[^.]*\?\s*$)"
    r"|, (?:please )?exclude\b|\b(?:when|where) (?=(?:an? )?#+ (?:could|is|may|might|remains)\b)"
)
_OBJECT_CUE = re.compile(
    rf"\b(?:{_MODAL} (?:conceal|hide|imitate|mask|mimic|obscure|simulate)|imitates|mimics|simulates|mistaken for"
    r"|if|in case of)\b"
)
"""Words of which only the object is not stated, up to the next comma."""
_UNSEEN = r"missed|hidden|overlooked|undetected|unseen|invisible|inapparent|occult|lost|masked|obscured"
_CUE_AFTER = re.compile(
    rf"\b(?:(?:cannot|can not|could not) be (?:\w+ )?(?:assessed|evaluated|judged|detected|diagnosed)"
    rf"|{_MODAL} (?:be|go|remain) (?:\w+ )?(?:{_UNSEEN})"
    rf"|(?:easily|often|frequently) (?:{_UNSEEN}|not visible)|beyond the (?:reach|scope)"
    rf"|{_MODAL} (?:escape|elude) (?:\w+ )?(?:detection|notice)"
    rf"|{_MODAL} not be (?:\w+ )?(?:visible|seen|detectable|apparent|appreciated|detected|resolved)"
    rf"|{_MODAL} be (?:difficult|hard) to (?:see|detect|appreciate|recognize)|(?:was|were) looked for"
    rf"|(?:cannot be excluded|(?:is|are) difficult to exclude) (?:by|with|on) (?:a )?(?:film|{_METHOD})"
    r"|below the (?:resolution|threshold)|(?:is|are) not (?:\w+ )?(?:assessed|evaluated|reported)"
    rf"|(?:is|are) not visible (?:radiographically|on {_METHOD}))\b"
)
_COMMA = re.compile(r",\s")
_CAUSE = re.compile(r"\b(?:because|due to|owing to|from)\b|\.\s")
_ALTERNATIVES = re.compile(r"[,:(]\s+(?P<items>(?:either )?(?:[^#,:()]*#+){1,4}[^#,:()]*?)(?=[,:).]|$)")
_CHOICE = re.compile(r"#[^#]*\b(?:versus|vs)\b[^#]*#|^either\b[^#]*#+[^#]*\bor\b[^#]*#")


def unstated_names(masked: str, names: Sequence[tuple[int, int]]) -> list[bool]:
    """Return one bool per name of a finding: True if it is only requested or a condition, or cannot be assessed.

    Args:
        masked: A lowercase sentence in which the names of findings are masked by #.
        names: Start and end of each name.

    >>> unstated_names("evaluate for ####.", [(13, 17)]), unstated_names("cannot rule out ####.", [(16, 20)])
    ([True], [False])
    >>> unstated_names("#### and ### cannot be assessed because of ######.", [(0, 4), (9, 12), (43, 49)])
    [True, True, False]
    """
    before = [_scope_after(masked, cue.end()) for cue in _CUE_BEFORE.finditer(masked)]
    before += [_scope_after(masked, cue.end(), _COMMA) for cue in _OBJECT_CUE.finditer(masked)]
    after = [_scope_before(masked, cue.start()) for cue in _CUE_AFTER.finditer(masked)]
    return [any(start <= name[0] and name[1] <= end for start, end in (*before, *after)) for name in names]


def _scope_after(masked: str, start: int, *others: re.Pattern[str]) -> tuple[int, int]:
    """Return the span from a start to the first stop of a clause, of a cause or of other kinds."""
    stops = [stop.start() for pattern in (CLAUSE_STOP, _CAUSE, *others) for stop in pattern.finditer(masked, start)]
    return start, min(stops, default=len(masked))


def _scope_before(masked: str, end: int) -> tuple[int, int]:
    stops = [stop.end() for pattern in (CLAUSE_STOP, _CAUSE) for stop in pattern.finditer(masked, 0, end)]
    return max(stops, default=0), end


def alternatives(masked: str, names: Sequence[tuple[int, int]], keys: Sequence[str]) -> tuple[int, int] | None:
    """Return the span of alternatives that explain a finding before them, as in "opacity, scar versus nodule", or None.

    Alternatives belong to this finding, and are no findings of their own.

    Args:
        masked: A lowercase sentence in which the names of findings are masked by #.
        names: Start and end of each name.
        keys: Finding of each name.

    >>> alternatives("####, ##### versus ######.", [(0, 4), (6, 11), (19, 25)], ["opacity", "scar", "nodule"])
    (6, 25)
    """
    for match in _ALTERNATIVES.finditer(masked):
        if not _CHOICE.search(match["items"]):
            continue
        start, end = match.span("items")
        inside = [key for (first, last), key in zip(names, keys, strict=True) if start <= first and last <= end]
        earlier = [key for (_, last), key in zip(names, keys, strict=True) if last < start]
        if inside and earlier and all(can_mean_same(earlier[-1], key) for key in inside):
            return start, end
    return None
