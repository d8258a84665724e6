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
    "improving|unchanged|patchy|multifocal|bibasilar|bibasal|biapical|bilateral|left|right|left-sided|right-sided|"
    "(?:large|massive|dense|hazy|linear|streaky|coarse) (?:left|right|bilateral)"
)
_ASSERTED = rf"(?:only|just|merely|rather|instead)\b|(?:(?:an?|some|the|very) )?(?:{_DEGREES}|{_STATES})\s"
"""The start of a finding that is present: names stand alone in a denied list."""
_PLACED = (
    rf"(?:(?:an?|only|new) )*(?:{_DEGREES}) (?:left|right|bilateral|bibasilar|bibasal|biapical)\b|new (?:{_DEGREES})\s"
)
"""Two such words, which state a finding even if "or" follows: "no effusion, mild left atelectasis or scarring"."""
_NO_ALTERNATIVE = rf"(?!(?:(?!\b(?:{_VERB}|which|that|may|but)|[;:.()])[^;:.()])*?\b(?:or|nor)\b)"
"""A list with "or" goes on: "no edema, small effusion or mass"."""
_END = (
    rf"{_START}(?:(?={_SUBJECT}{_VERB}(?!\s+(?:\w+\s+)?(?:{PERCEPTION_WORDS})))|(?=(?:an?|the) {_SUBJECT}{_VERB})"
    rf"|(?={_SUBJECT}(?:is|are) (?:also|again|still)\b)"
    rf"|(?=(?:[a-z-]+ ){{0,2}}#+ (?:present\b|\d|tip\b){_NO_ALTERNATIVE})"
    rf"|(?=(?:[a-z-]+ ){{0,2}}#+ in (?:place|situ|(?:[a-z]+ ){{0,2}}position)\b)"
    rf"|(?={_PLACED})|(?=(?:{_ASSERTED}){_NO_ALTERNATIVE}))"
)
END_OF_DENIAL = re.compile(rf"\s--?\s|{_END}")
"""End of a denial in a lowercase sentence; no end of a doubt."""
_CLOSED_LIST = (
    r"#[^,;()#]{0,20} (?:or|nor) (?:[a-z-]+ ){0,4}#+[^,;()#]{0,30},\s"
    rf"(?!no\b|or\b|nor\b|and\b|without\b|not\b){_NO_ALTERNATIVE}"
)
"""The last of a denied list, and a comma."""
_DENIED = r"(?:#|\b(?:abnormalit(?:y|ies)|disease|findings?|pathology|process(?:es)?)\b)"
END_AFTER_NAME = rf"\s--?\s|,\s\+|{_CLOSED_LIST}|{_DENIED}[^#,;()]{{0,80}}?(?:{_END})"
"""End of a denial after the name of a finding that is masked by #: "no left, right effusion" denies both."""
