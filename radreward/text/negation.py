"""Scopes of negation in a sentence.

`negated_spans` works on any text with the cues of the lexicon. `is_name_negated` is the narrower rule of the sentence
parser, which knows where the names of findings are. `drop_leading_negation` turns a negation into a statement.
"""

from __future__ import annotations

import re

from radreward.text.lexicon import compile_phrases, cue_pattern, lowercase_same_length

_PERCEPTION_WORDS = (
    "seen|identified|noted|present|demonstrated|evident|visualized|appreciated|detected|visible|found|observed|shown"
)
_STATING_VERB = re.compile(
    r"\b(?:is|are|was|were|appears?|remains?|has|have|shows?|demonstrates?)\b"
    rf"(?!\s+(?:\w+\s+)?(?:{_PERCEPTION_WORDS}))"
)
"""A verb that states something; "is seen" after a list of negated findings does not."""
_CLAUSE_BREAK = re.compile(r"[;:]|\.\s|\s--?\s")
_CONJUNCTION = re.compile(r",\s+(?!or\b|nor\b)|\s+and\s+")
_ASSERTION_START = re.compile(
    r"(?:and\s+)?(?:mild|moderate|severe|minimal|small|minor|slight|chronic|old|healed|low|the)\b"
)
"""Start of an asserted finding after a comma, unless the list continues to an "or"."""
_ENUMERATION = re.compile(r",\s+(?:and|or)\s+|^[^,]*\s+(?:and|or)\s+[^,]*$")

_NAME_CUES = compile_phrases(
    ("no evidence of", "no", "not", "without", "negative for", "free of", "absence of", "nor", "clear of")
)
_NAME_CUES_AFTER = compile_phrases(
    ("is not seen", "are not seen", "not identified", "is absent", "ruled out", "is excluded")
)
_NO_CUE = ("not excluded", "no longer")
CLAUSE_STOP = re.compile(r"\b(?:but|however|although|with|there is|there are|which)\b|[;:]")
"""End of the scope of a cue that stands before the name of a finding."""
_LEADING_NEGATION = re.compile(
    r"^(?P<verb>There (?P<singular>is|was) |There (?:are|were) )?"
    r"no (?:(?:definite|convincing|evidence of|sign of) )*",
    re.IGNORECASE,
)


def negated_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of the negated parts of a sentence.

    >>> text = "No effusion or edema, but stable cardiomegaly."
    >>> [text[start:end] for start, end in negated_spans(text)]
    [' effusion or edema, ']
    """
    lower = lowercase_same_length(text)
    masked = cue_pattern("no negation").sub(lambda match: "#" * len(match[0]), lower)
    after_cue = [(cue.end(), _scope_end(masked, cue.end())) for cue in cue_pattern("negation before").finditer(masked)]
    before_cue = [
        (_scope_start(lower, cue.start()), cue.start()) for cue in cue_pattern("negation after").finditer(masked)
    ]
    return after_cue + before_cue


def _scope_end(text: str, start: int) -> int:
    """Return the end of a scope: a word that ends it, or the start of a clause that states something."""
    stops = (pattern.search(text, start) for pattern in (cue_pattern("scope end"), _CLAUSE_BREAK))
    end = min([len(text), *(stop.start() for stop in stops if stop)])
    for conjunction in _CONJUNCTION.finditer(text, start, end):
        rest = text[conjunction.end() : end]
        clause = rest if "and" in conjunction[0] else re.split(r",\s", rest, maxsplit=1)[0]
        is_list = re.search(r"\b(?:or|nor)\b", rest)
        if _STATING_VERB.search(clause) or (_ASSERTION_START.match(rest) and not is_list):
            return conjunction.start()
    return end


def _scope_start(text: str, end: int) -> int:
    """Return the start of the scope of a cue that stands after a list of findings."""
    stops = (stop for pattern in (cue_pattern("scope end"), _CLAUSE_BREAK) for stop in pattern.finditer(text, 0, end))
    start = max([0, *(stop.end() for stop in stops)])
    part = text[start:end]
    return start if "," not in part or _ENUMERATION.search(part) else start + part.rindex(",") + 1


def is_name_negated(text: str, start: int, end: int) -> bool:
    """Return True if a cue before or after the name of a finding negates it.

    Args:
        text: A lowercase sentence in which the names of findings are masked.
        start: Offset of the name.
        end: Offset after the name.

    >>> is_name_negated("no evidence of #### today", 15, 19), is_name_negated("no change but ####", 14, 18)
    (True, False)
    """
    before = text[:start]
    cues = [cue for cue in _NAME_CUES.finditer(before) if not before[cue.start() :].startswith(_NO_CUE)]
    if cues and not CLAUSE_STOP.search(before, cues[-1].end()):
        return True
    return bool(_NAME_CUES_AFTER.search(text[end:].split(",")[0]))


def drop_negation_after(text: str) -> str:
    """Return a lowercase text without the cues that negate the name before them."""
    return _NAME_CUES_AFTER.sub(" ", text)


def drop_leading_negation(sentence: str) -> str | None:
    """Return a sentence as a statement, or None if it does not start with a negation.

    >>> drop_leading_negation("There is no evidence of pneumothorax."), drop_leading_negation("Small effusion.")
    ('There is a pneumothorax.', None)
    """
    match = _LEADING_NEGATION.match(sentence)
    if match is None:
        return None
    start = (match["verb"] or "") + ("a " if match["verb"] and match["singular"] else "")
    statement = start + sentence[match.end() :]
    return statement[:1].upper() + statement[1:]
