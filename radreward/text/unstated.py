"""Names of findings that a sentence mentions without stating them: requests, limits, conditions, alternatives.

The cues are the lines of unstated.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from radreward.text.findings import FINDINGS, can_mean_same
from radreward.text.negation import CLAUSE_STOP
from radreward.text.section_files import read_sections

_SECTIONS = read_sections("unstated.txt")
_PARTS = dict(line.split(" = ", 1) for line in _SECTIONS["parts"])


def _pattern(section: str) -> str:
    """Return the alternatives of a section; an unknown part raises a KeyError."""
    return "|".join(re.sub(r"<(\w+)>", lambda part: _PARTS[part[1]], line) for line in _SECTIONS[section])


_CUE_BEFORE = re.compile(rf"\b(?:{_pattern('before')})\b|{_pattern('before, with its own ends')}")
_OBJECT_CUE = re.compile(rf"\b(?:{_pattern('object')})\b")
_CUE_AFTER = re.compile(rf"\b(?:{_pattern('after')})\b")
_CUE_AFTER_COMMA = re.compile(rf"\b(?:{_pattern('after a comma')})\b")
_DEVICE_CUE_BEFORE = re.compile(_pattern("devices and operations, before"))
_DEVICE_CUE_AFTER = re.compile(rf"\b(?:{_pattern('devices and operations, after')})\b")
_OPERATIONS = frozenset(_SECTIONS["operations"][0].split())
_TRANSIENT = frozenset(_SECTIONS["transient"][0].split())
NO_FINDING = re.compile(rf"\b(?:{_pattern('no finding')})\b")
"""Phrases of lowercase text with the name of a finding that state none."""
_NORMAL_OR_PAST = re.compile(rf"\b(?:{_pattern('normal or past')})\b")
_NO_REPORT = re.compile(rf"(?:{_pattern('no report')})\s?\.?")
_LACKS = re.compile(r"\b(?:lack|loss|lost)\b|\bthan (?:is )?$")
"""Words before "normal", as in "loss of the normal outline"."""
DENIED_DOUBT = re.compile(r"\b(?:less likely|not (?:favou?red|likely|suspected))\b")
"""Words of doubt about a name that they make unstated, and about no other."""
_COMMA = re.compile(r",\s")
_STATEMENT = re.compile(r"\b(?:are|has|have|is|noted|present|seen|was|were)\b[^#]*\band\s")
"""The end of a statement before another one that "and" joins to it."""
_CAUSE = re.compile(r"\b(?:because|due to|owing to|from)\b|\.\s")
_PRIOR = re.compile(
    r"\b(?:female|male|man|patient|woman)\b[^.;]*"
    r"\b(?:history of|with) (?:[a-z-]+ )?(?:former|past|previous|prior) (?:[a-z-]+ )?(?=#+\s?(?:[.,;)]|$|and\b))"
    r"(?![^;.]*\b(?:again|also|decreas\w+|improv\w+|increas\w+|larger|now|persist\w*|remain\w*|resolv\w+|smaller|"
    r"stable|still|unchanged|worse\w*)\b)"
)
"""Before a finding that the patient had, if it is transient: "patient with prior effusion"."""
_ALTERNATIVES = re.compile(r"[,:(]\s+(?P<items>(?:either )?(?:[^#,:()]*#+){1,4}[^#,:()]*?)(?=[,:).]|$)")
_CHOICE = re.compile(r"#[^#]*\b(?:versus|vs)\b[^#]*#|^either\b[^#]*#+[^#]*\bor\b[^#]*#")


def unstated_names(masked: str, names: Sequence[tuple[int, int]], keys: Sequence[str]) -> list[bool]:
    """Return one bool per name of a finding: True if it is only requested or a condition, or cannot be assessed.

    A device or an operation is not stated either if it is only planned, or removed. A finding is: "drainage of the
    effusion is planned".

    Args:
        masked: A lowercase sentence in which the names of findings are masked by #.
        names: Start and end of each name.
        keys: Finding of each name.

    >>> unstated_names("evaluate for ####.", [(13, 17)], ["edema"])
    [True]
    >>> unstated_names("#### and ### cannot be assessed because of ######.", [(0, 4), (9, 12), (43, 49)], ["mass"] * 3)
    [True, True, False]
    >>> unstated_names("#### planned.", [(0, 4)], ["picc"]), unstated_names("#### planned.", [(0, 4)], ["mass"])
    ([True], [False])
    """
    before = [_scope_after(masked, cue.end()) for cue in _CUE_BEFORE.finditer(masked)]
    before += [_scope_after(masked, cue.end(), _COMMA) for cue in _OBJECT_CUE.finditer(masked)]
    after = [_scope_before(masked, cue.start()) for cue in _CUE_AFTER.finditer(masked)]
    after += [_scope_before(masked, cue.start(), _COMMA, _STATEMENT) for cue in _CUE_AFTER_COMMA.finditer(masked)]
    prior = {match.end() for match in _PRIOR.finditer(masked)}
    of_devices = [_scope_after(masked, cue.end()) for cue in _DEVICE_CUE_BEFORE.finditer(masked)]
    of_devices += [_scope_before(masked, cue.start()) for cue in _DEVICE_CUE_AFTER.finditer(masked)]
    return [
        _is_inside(name, (*before, *after))
        or (_is_device_or_operation(key) and _is_inside(name, of_devices))
        or (key in _TRANSIENT and name[0] in prior)
        for name, key in zip(names, keys, strict=True)
    ]


def _is_inside(name: tuple[int, int], spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= name[0] and name[1] <= end for start, end in spans)


def _is_device_or_operation(key: str) -> bool:
    return FINDINGS[key].is_device or key in _OPERATIONS


def _scope_after(masked: str, start: int, *others: re.Pattern[str]) -> tuple[int, int]:
    """Return the span from a start to the first stop of a clause, of a cause or of other kinds."""
    stops = [stop.start() for pattern in (CLAUSE_STOP, _CAUSE, *others) for stop in pattern.finditer(masked, start)]
    return start, min(stops, default=len(masked))


def _scope_before(masked: str, end: int, *others: re.Pattern[str]) -> tuple[int, int]:
    stops = [stop.end() for pattern in (CLAUSE_STOP, _CAUSE, *others) for stop in pattern.finditer(masked, 0, end)]
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


def is_normal_or_past(statement: str) -> bool:
    """Return True if a statement calls something normal or past.

    >>> is_normal_or_past("The windpipe is central."), is_normal_or_past("Loss of the normal outline of the heart.")
    (True, False)
    """
    found = _NORMAL_OR_PAST.search(statement.lower())
    return found is not None and not _LACKS.search(statement.lower(), 0, found.start())


def reports_nothing(statement: str) -> bool:
    """Return True if a statement is only advice, a notification, or a remark on the quality of the image.

    >>> [reports_nothing(text) for text in ("CT is recommended.", "The findings were discussed with the team.")]
    [True, True]
    >>> blurred = "The lateral view is blurred"
    >>> [reports_nothing(text) for text in (f"{blurred}.", f"{blurred} but shows a dark rim.", "Fluid is suggested.")]
    [True, False, False]
    """
    return _NO_REPORT.fullmatch(statement.lower()) is not None
