"""Words for the change of a finding since a prior study."""

from __future__ import annotations

import re
from typing import Literal, cast

from radreward.text.denial_end import BEFORE_DENIED_CHANGE
from radreward.text.facts import Change
from radreward.text.lexicon import compile_phrases
from radreward.text.section_files import phrases_of, read_sections

INTENDED = r"(?:advised|considered|pending|planned|recommended|requested|scheduled|suggested)"
"""After what is only to be done, such as a removal, in a regular expression of lowercase text."""
BEFORE_INTENDED = r"(?:advise|await(?:ing|s)?|before|consider|pending|recommend|suggest)"
"""Before it."""
_SECTIONS = cast("dict[Change | Literal['none'], tuple[str, ...]]", read_sections("changes.txt"))
CHANGE_OF_PHRASE: dict[str, Change | None] = {
    phrase: None if change == "none" else change for change, lines in _SECTIONS.items() for phrase in phrases_of(lines)
}
CHANGE = compile_phrases(CHANGE_OF_PHRASE)
"""Pattern of all phrases of change, in lowercase."""
_SIDE = r"(?:left|right|[lr])"
_BOTH_SIDES = "bilateral"
_SIDES_COMPARED = re.compile(
    rf"\b(?P<first>(?:the )?{_SIDE}(?: side)?,? (?:(?:is|are|being|much|slightly|somewhat) )*)?"
    rf"(?:(?:more|less) )?(?:\w+ )?(?:>|than) ?(?:the |on the )?{_SIDE}\b"
)
_COMPARED_WITH_SIZE = re.compile(r"\b(?:larger|greater|bigger|smaller|less|more) than (?=\d+(?:\.\d+)?\s?[cm]m\b)")
_WORSE_ON_SIDE = re.compile(
    r"\b(?:greater|greatest|larger|largest|more|most|worse|worst)(?: (?!than\b)\w+)? (?=(?:on|at|in) the "
    rf"(?:{_SIDE}|apices|bases?|lower|mid|upper)\b(?!.*\b(?:before|compared|previous|prior|since|yesterday)\b))"
)
_COMPARED_WITH_NORMAL = re.compile(
    r"\b(?:larger|bigger|smaller|greater|higher) than (?=(?:is )?(?:normal|usual|expected)\b)"
)
_AFTER_COMMA = re.compile(r", (?:\w+ly )?(?P<word>increased|larger|bigger|smaller)(?= ?(?:[.,;]|$))")
_AT_START = re.compile(r"^(?:\w+ly )?(?P<word>larger|bigger|smaller)(?= [^.,;]*#)")
_COMPARED_WITH_BEFORE = re.compile(
    r"\b(?:(?P<less>less|fainter|fewer|milder|narrower|paler|smaller|thinner)|bigger|denser|fuller|greater|larger|more"
    r"|thicker|whiter|wider|worse)\b(?! (?:aerated|clear|distinct|expanded|lucent|sharp|transparent|visible)\b)[^.,;]*"
    r"\bthan (?:(?:it |they )?(?:was|were) )?(?:(?:(?:at|in|on) )?the (?:earlier|last|previous|prior)\b|before|earlier"
    r"|last (?:month|time|week|year)|previously|yesterday)\b"
)
_DEVICE_CHANGE = re.compile(
    r"\b(?:explanted|inserted|insertion|passed|placed|placement|pulled|removal|removed|retrieved|withdrawn)\b"
    r"|\b(?:is|are|now|taken|taking) out\b"
)
_MOVED = re.compile(
    r"\s(?:(?:about|approximately|approx|slightly|partially|partly|further|back|by|to|of|a|beyond|below|into|through"
    r"|across|down|over)\b|\d|and (?:is (?:in|now)|its|now|terminates|the (?:end|tip))\b)|, (?:now|tip|with)\b"
)
"""After "passed", "pulled", "withdrawn" and "out": a device that is still there."""
_NOT_DONE = re.compile(
    rf"\b(?:{BEFORE_INTENDED}|barely|be|cannot|ensure|hardly|incompletely|never|not|"
    r"one of which (?:has|was)|only|partially|partly|"
    r"(?<!adjacent )(?<!due )(?<!next )(?<!related )(?<!secondary )to|to (?:confirm|demonstrate|document|verify)|until)"
    r"(?: (?:#+|be|been|complete|completely|entirely|full|fully|has|have|radiographic|that|the|yet))* $"
)
"""Words before "cleared" or "drained" for what has not happened, or in part only."""
_ONE_OF_SEVERAL = re.compile(r"\bone of (?:the |these |two |three )*(?:[a-z-]+ )*#")
"""What is said of one device of several."""
_OF_NEXT_NAME = re.compile(r"\b(?:after|from|of|to) (?:an? |the )?(?:cleared|resolved) $")
"""At the end of the words about a name: the next name is resolved."""
_IN_PART = re.compile(
    r"\b(?:almost|incomplete|incompletely|largely|mostly|near|nearly|partial|partially|partly)"
    r"(?:[ -](?:complete|completely|entire|entirely|full|fully|total|totally))?(?: interval)? $"
)
"""Words before "resolved": the finding is better."""
_NOT_YET = re.compile(rf" one of\b|[^.;]*\b(?:is|should be|to be|are) {INTENDED}\b")
"""After "removal of": one of several devices, or what has not happened yet."""
_INCOMPLETE = re.compile(r"[^.,;]*\bincomplete\b")
"""After "resolution of"."""
_DENIED_CHANGE = re.compile(rf"\b(?:no|nor|not|without)(?: {BEFORE_DENIED_CHANGE})* $")
"""Words before a change that deny it, but no finding: "no appreciable decrease in the effusion"."""
_CHANGES_OF_STATEMENTS = re.compile(
    r"(?:interval )?(?:decrease|improvement|increase|progression|resolution|clearing)(?: in| of)?|"
    r"(?:worsening|removal) of|(?:has |have |been )*"
    r"(?:cleared|decreased|disappeared|enlarged|grown|improved|increased|progressed|resolved|worsened)"
)
"""Changes that can be denied: not one before a name, as in "no worsening edema", which denies the finding."""
_STILL_THERE = re.compile(
    r" (?:(?:is|are) )?(?:as|at|beyond|coiled|complete|confluent|dense|displaced|enlarging|growing|increasing|in the|"
    r"kinked|large|layering|layers|loculated|malpositioned|massive|moderate|obscured|progressing|quite|severe|so|tense|"
    r"tension|under|within|worsening)\b"
)
"""After "no longer": a finding that is not gone, but no longer large, for instance."""
_PRIOR_STUDY = re.compile(r"\b(?:prior|previous|previously|interval|compared|since|before)\b", re.IGNORECASE)
_MORE_NOW = re.compile(r"\b(?P<word>increased|less|more) (?:[a-z]+ ){0,2}#")
_COMPARISON = re.compile(
    r"\b(?:compared (?:to|with)|since|than on|from) (?:an? |the )?(?:earlier|last|previous|prior|yesterday)"
)
"""A comparison with an earlier study."""


def change_of(masked: str, is_device: bool) -> Change | None:
    """Return the change of the name that is masked by # in a lowercase text.

    A phrase that ends with "of" or "in" is about what follows, and only a device is placed or removed.

    >>> change_of("#### after removal of the drain", True), change_of("interval removal of the ####", True)
    (None, 'resolved')
    >>> change_of("#### after the tube was removed", False)
    >>> change_of("#### has cleared.", False), change_of("#### has not fully cleared.", False)
    ('resolved', None)
    >>> change_of("right ####, slightly increased.", False)
    'worse'
    >>> change_of("there is more #### than before.", False), change_of("#### less wide than on the prior film", False)
    ('worse', 'better')
    >>> change_of("the #### was withdrawn.", True), change_of("the #### was withdrawn 2 cm.", True)
    ('resolved', None)
    """
    name = masked.find("#")
    for phrase in CHANGE.finditer(masked):
        if _DEVICE_CHANGE.search(phrase[0]) and (not is_device or _is_moved(masked, phrase)):
            continue
        if (change := CHANGE_OF_PHRASE[phrase[0]]) is None:
            continue
        if change == "resolved" and (_ONE_OF_SEVERAL.search(masked) or _OF_NEXT_NAME.search(masked)):
            continue
        if phrase[0] == "no longer" and _STILL_THERE.match(masked, phrase.end()):
            continue
        if (change == "resolved" or phrase[0].startswith("clearing")) and (
            _NOT_DONE.search(masked, 0, phrase.start()) or _NOT_YET.match(masked, phrase.end())
        ):
            continue
        if _CHANGES_OF_STATEMENTS.fullmatch(phrase[0]) and _DENIED_CHANGE.search(masked, 0, phrase.start()):
            change = None if change == "resolved" else "stable"
        elif change == "resolved" and (
            _IN_PART.search(masked, 0, phrase.start()) or _INCOMPLETE.match(masked, phrase.end())
        ):
            change = "better"
        if phrase.end() <= name or not phrase[0].endswith((" of", " in")):
            return change
    if compared := _AFTER_COMMA.search(masked) or _AT_START.search(masked):
        return "better" if compared["word"] == "smaller" else "worse"
    if compared := _COMPARED_WITH_BEFORE.search(masked):
        return "better" if compared["less"] else "worse"
    if (more := _MORE_NOW.search(masked)) and _COMPARISON.search(masked):
        return "better" if more["word"] == "less" else "worse"
    return None


def _is_moved(masked: str, phrase: re.Match[str]) -> bool:
    """Return True if a device is not removed but moved: "withdrawn by 2 cm", "out of position"."""
    return (
        phrase[0].endswith(("passed", "pulled", "withdrawn", " out")) and _MOVED.match(masked, phrase.end()) is not None
    )


def without_comparisons(masked: str) -> str:
    """Return a lowercase text of equal length in which comparisons of sides, or with a size, are no change.

    Both compared sides are named.

    >>> without_comparisons("#######, left larger than right.")
    '#######, ~~~~~~~~~~~~~bilateral.'
    >>> without_comparisons("the right ####### is larger than the left.")
    'the right ####### is ~~~~~~~~~~~~~~~~~~~~.'
    >>> without_comparisons("a ###### larger than 3 cm.")
    'a ###### ~~~~~~~~~~~~3 cm.'
    >>> without_comparisons("bilateral #######, worse on the right.")
    'bilateral #######, ~~~~~ on the right.'
    """
    masked = _WORSE_ON_SIDE.sub(lambda match: "~" * (len(match[0]) - 1) + " ", masked)
    if "than" not in masked and ">" not in masked:
        return masked
    for pattern in (_COMPARED_WITH_SIZE, _COMPARED_WITH_NORMAL):
        masked = pattern.sub(lambda match: "~" * len(match[0]), masked)
    return _SIDES_COMPARED.sub(_both_sides, masked)


def _both_sides(match: re.Match[str]) -> str:
    length = len(match[0])
    return _BOTH_SIDES.rjust(length, "~") if match["first"] and length >= len(_BOTH_SIDES) else "~" * length


def mentions_change(sentence: str) -> bool:
    """Return True if a sentence mentions a change or a prior study.

    >>> mentions_change("It is larger than on the prior film."), mentions_change("It is large.")
    (True, False)
    """
    return bool(CHANGE.search(sentence.lower()) or _PRIOR_STUDY.search(sentence))
