"""Words of a denial, and its end before a statement of its own, as in "no edema, small effusion"."""

from __future__ import annotations

import re

PERCEPTION_WORDS = (
    "seen|identified|noted|present|demonstrated|evident|visualized|appreciated|detected|visible|found|observed|shown"
)
BEFORE_DENIED_CHANGE = (
    r"(?:any|appreciabl[ey]|been|clear(?:ly)?|complete(?:ly)?|convincing(?:ly)?|definite(?:ly)?|evidence|further|has|have|"
    r"interval|major|much|notabl[ey]|of|signs?|significant(?:ly)?|substantial(?:ly)?|that|the|yet|#+)"
)
"""Words between "no" and a change, as in "no appreciable decrease"."""
_START = (
    r"(?:,\s(?:and\s)?|\s\(|(?<!\bleft)(?<!\bright)(?<!\bbilateral)\sand\s)"
    r"(?!and\b|which\b|that\b|there\b|no\b|or\b|nor\b)"
)
"""The end of an item of a list. "No left and right effusions" denies both."""
_SUBJECT = r"(?:(?:[a-z][a-z-]*|#+|\d+)\s){1,5}"
_VERB = r"(?:is|are|was|were|appears?|remains?|shows?|has|have)\b"
_DEGREES = (
    "mild|moderate|severe|minimal|small|minor|slight|trace|tiny|subtle|marked|extensive|mild to moderate|"
    "small to moderate|moderate to large|moderate to severe"
)
_STATES = (
    "chronic|old|healed|low|stable|persistent|persisting|residual|worsening|increasing|increased|decreasing|decreased|"
    "improving|unchanged|new|patchy|multifocal|bibasilar|bibasal|biapical|bilateral|left|right|left-sided|right-sided|"
    "(?:large|massive|dense|hazy|linear|streaky|coarse) (?:left|right|bilateral)"
)
_ASSERTED = rf"(?:only|just|merely|rather|instead)\b|(?:(?:an?|some|the|very) )?(?:{_DEGREES}|{_STATES})\s|an? "
"""The start of a finding that is present: names stand alone in a denied list."""
_NO_ALTERNATIVE = rf"(?!(?:(?!\b(?:{_VERB}|which|that|may|but)|[;:.()])[^;:.()])*?\b(?:or|nor)\b)"
"""A list with "or" goes on: "no edema, small effusion or mass"."""
END_OF_DENIAL = re.compile(
    rf"\s--?\s|,\s\+|{_START}(?:(?={_SUBJECT}{_VERB}(?!\s+(?:\w+\s+)?(?:{PERCEPTION_WORDS})))"
    rf"|(?=(?:an?|the) {_SUBJECT}{_VERB})"
    rf"|(?={_SUBJECT}(?:is|are) (?:also|again|still|now)\b)|(?=(?:{_ASSERTED}){_NO_ALTERNATIVE}))"
)
"""End of a denial in a lowercase sentence whose names of findings are masked by #; no end of a doubt."""

_OWN_NO = re.compile(
    rf"\bno [^#,;]*#+[^#,;]*,(?: and)? no [^#,;]*#+[^#,;]*(?P<comma>,)\s(?:and\s)?"
    rf"(?!no\b|or\b|nor\b|without\b|not\b){_NO_ALTERNATIVE}"
)


def with_ends_of_denials(masked: str) -> str:
    """Return a lowercase sentence in which a semicolon ends a list whose denied items each have their own "no".

    Args:
        masked: A lowercase sentence in which the names of findings are masked by #.

    >>> with_ends_of_denials("no ####, no #####, ###### in the right lung.")
    'no ####, no #####; ###### in the right lung.'
    """
    return _OWN_NO.sub(
        lambda match: (
            f"{match[0][: match.start('comma') - match.start()]};{match[0][match.end('comma') - match.start() :]}"
        ),
        masked,
    )
