"""Scopes of negation in a sentence.

`negated_spans` finds the cues of the lexicon in any text. `negated_names` is the narrower rule of the sentence parser,
which already knows the names of findings. `drop_leading_negation` turns a negated sentence into a positive one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from operator import itemgetter

from radreward.text.denial_end import BEFORE_DENIED_CHANGE, END_AFTER_NAME, END_OF_DENIAL, PERCEPTION_WORDS
from radreward.text.lexicon import compile_phrases, cue_pattern, load_lexicon, lowercase_same_length

_STATING_VERB = re.compile(
    r"\b(?:is|are|was|were|appears?|remains?|has|have|shows?|demonstrates?)\b"
    rf"(?!\s+(?:\w+\s+)?(?:{PERCEPTION_WORDS}))"
)
"""A verb that starts a new statement; "is seen" after a list of negated findings does not."""
_CLAUSE_BREAK = re.compile(r"[;:]|\.\s|\s--?\s")
_CONJUNCTION = re.compile(r",\s++(?!or\b|nor\b)|(?<!\s)\s++and\s++")
_COMMA = re.compile(r",\s")
_ALTERNATIVE = re.compile(r"\b(?:or|nor)\b")
_ASSERTION_START = re.compile(
    r"(?:and\s+)?(?:mild|moderate|severe|minimal|small|minor|slight|chronic|old|healed|low|the)\b"
)
"""Start of a present finding after a comma, unless an "or" follows in the list."""
_ENUMERATION_END = re.compile(r",\s++(?:and|or)\s")

_NAME_CUES = compile_phrases(
    (
        "no evidence of",
        "no",
        "not",
        "without",
        "negative for",
        "neg for",
        "absent any",
        "inconsistent with",
        *(f"not {word}" for word in ("associated with", "compatible with", "consistent with", "in keeping with")),
        *(f"not {word} of" for word in ("characteristic", "indicative", "suggestive", "typical")),
        *(f"not {word} for" for word in ("concerning", "convincing", "suspicious", "typical")),
        "free of",
        "absence of",
        "neither",
        "nor",
        "clear of",
        "devoid of",
        "nothing to suggest",
    )
)
_NAME_CUES_AFTER = compile_phrases(
    (
        *("is not seen", "are not seen", "not identified", "is absent", "are absent", "ruled out", "is excluded"),
        *(
            "been excluded",
            "was excluded",
            "are excluded",
            "not present",
            "not evident",
            "not demonstrated",
            "not visualized",
            "not seen",
            "not visible",
            "not clearly seen",
            "not reaccumulated",
            "not re-accumulated",
            "not recurred",
            "not returned",
            "not developed",
            "not discernible",
            "not formed",
            "not found",
            "not in evidence",
            "not set in",
            "not suggested",
            "cannot be discerned",
            "can be dismissed",
            "has been refuted",
            "is missing",
            "are missing",
            "nowhere to be seen",
        ),
    )
)
_ON_PRIOR = re.compile(
    r" (?:(?:on|in|at) (?:an? |any |the )?(?:baseline|comparison|earlier|initial|last|most recent|"
    r"old|older|preceding|previous|prior)\b(?! (?:\d|(?:and|or)\b))"
    r"|(?:before|earlier|previously|yesterday|\d+ \w+ (?:ago|before|earlier))\b(?! (?:and|or)\b))"
)
"""After "not present": a finding that is new."""
_ANSWERED_NO = re.compile(
    r"(?:(?:\s?[:?=|]|\s--?)\s?(?:none|nil|no|n|0(?!\s?[.,]\s?\d)|absent|false|neg|negative|not|unlikely)"
    r"(?: (?:at all|evidence|evident|significant|identified|noted|present|seen|visible|visuali[sz]ed))?|\sabsent)"
    r"(?=\s?(?:[.,;|]|$))|\s?:?\s?\[\s?\]|\s?\((?:-|absent|neg|negative|nil|no|none)\)"
)
"""The end of an item of a list that answers whether there is a finding, as in "pneumothorax: none"."""
_NO_DENIALS = re.compile(
    r"(?:no (?:doubt|longer|question)|not (?:insignificant|just|merely|only|without)|without doubt)\b|"
    r"not clear (?:if|whether)\b|"
    r"not (?:\w+ly |well |yet )?(?:assessed|evaluated|imaged|seen|visible|visuali[sz]ed)\b(?! (?:are|is)\b)|"
    rf"(?:no|without) (?:{BEFORE_DENIED_CHANGE} )*"
    r"(?:(?:change|clearing|decrease|growth|improvement|increase|progression|resolution)"
    r"(?= ?(?:[.,;]|$)| (?:compared|in|of|since)\b)|(?:enlargement|growth|worsening) of\b|"
    r"(?<=has )resolved\b|(?<=have )resolved\b|(?<=has )cleared\b)|"
    rf"not (?:{BEFORE_DENIED_CHANGE} )*(?:cleared|decreased|enlarged|improved|increased|progressed|resolved|worsened)\b"
    r"|inconsistent with (?:an? |the )?(?:exam|history|previous|prior)|devoid of (?:\w+ ){0,2}markings\b"
)
"""Words that deny no finding that follows: "no longer large", "no decrease in", "not seen due to an effusion"."""
_STATES_FINDING = re.compile(r"chang|exclu|rule|^no .*(?:decrease|improvement|increase)$|^no .*progression of$")
"""Phrases of the lexicon whose finding is present or in doubt: "no change", not "no further"."""
_DENIALS_OF_CUE = ("not ", "nothing ", "nor ")
"""Words before "inconsistent with" that turn it into no denial."""
_DOUBT_BEFORE_CUE = ("not ", "not be ", "cannot be ", "not been ")
"""Words before "ruled out" and "is excluded" that make them uncertain."""
CLAUSE_STOP = re.compile(
    r"\b(?:but|however|although|though|yet|while|whereas|with|(?<!that )there is|(?<!that )there are|which|"
    r"apart from|aside from|except"
    r"|other than|despite|so|after|following|because|favou?red|given|in the setting of|on (?:a |the )?background of|"
    r"superimposed (?:up)?on)\b|,\s(?:just|only)\b|[;:]"
)
"""End of the scope of a cue before the name of a finding."""
_DENIAL = re.compile(r"(?:there (?:is|are) )?no (?!change|interval|longer|significant|other|further)")
DENIAL_STOP = re.compile(
    rf"{CLAUSE_STOP.pattern}|{END_AFTER_NAME}|\b(?:besides|"
    r"(?:with)?in (?:a |the |this )?(?:chronic|existing|known|pre-?existing|underlying)|"
    r"(?:and|more) (?:likely|probably) (?:is|represents?|reflects?)|"
    r"and (?:are|demonstrates?|favou?rs?|is|most likely|shows?|suggests?|#+ (?:may|should)))\b|"
    r",\s(?:consider|favou?ring|more likely|rather|representing|suggest(?:ing|ive))\b|\bthan (?=an?\b|the\b|#)"
)
_LEADING_NEGATION = re.compile(
    r"^(?P<verb>There (?P<singular>is|was) |There (?:are|were) )?"
    r"no (?:(?:definite|convincing|evidence of|sign of) )*",
    re.IGNORECASE,
)


def negated_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of the negated parts of a sentence, in order and without overlap, in linear time.

    >>> text = "No effusion or edema, but stable cardiomegaly."
    >>> [text[start:end] for start, end in negated_spans(text)]
    [' effusion or edema, ']
    """
    masked = cue_pattern("no negation").sub(lambda match: "#" * len(match[0]), lowercase_same_length(text))
    spans: list[tuple[int, int]] = []
    for start, end in sorted((*_spans_after_cues(masked), *_spans_before_cues(masked))):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        elif start < end:
            spans.append((start, end))
    return spans


def is_inside(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Return True if an offset is inside one of the spans, which are in order and do not overlap.

    >>> [is_inside([(2, 4), (6, 9)], offset) for offset in (1, 2, 4, 8)]
    [False, True, False, True]
    """
    index = bisect_right(spans, offset, key=itemgetter(0))
    return index > 0 and offset < spans[index - 1][1]


def _spans_after_cues(text: str) -> Iterator[tuple[int, int]]:
    """Yield the scopes of cues before findings: up to a word that ends scopes, or to a clause with a new statement.

    All cues before an end share it, so the ends are computed once.
    """
    stops = sorted(stop.start() for pattern in _scope_stops() for stop in pattern.finditer(text))
    statements = (_statement_starts(text, *part) for part in pairwise((0, *stops, len(text))))
    ends = sorted((*stops, *chain.from_iterable(statements), len(text)))
    answers = [answer.span() for answer in _ANSWERED_NO.finditer(text)]
    for cue in cue_pattern("negation before").finditer(text):
        if not is_inside(answers, cue.start()):
            yield cue.end(), ends[bisect_left(ends, cue.end())]


def _statement_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the start of each conjunction in a part of a text that introduces a clause with a new statement."""
    conjunctions = list(_CONJUNCTION.finditer(text, start, end))
    if not conjunctions:
        return
    last_verb = max((verb.start() for verb in _STATING_VERB.finditer(text, start, end)), default=-1)
    last_alternative = max((word.start() for word in _ALTERNATIVE.finditer(text, start, end)), default=-1)
    for conjunction in conjunctions:
        clause = conjunction.end()
        if conjunction[0].startswith(","):
            comma = _COMMA.search(text, clause, end)
            has_verb = _STATING_VERB.search(text, clause, comma.start() if comma else end) is not None
        else:
            has_verb = last_verb >= clause
        if has_verb or (last_alternative < clause and _ASSERTION_START.match(text, clause, end)):
            yield conjunction.start()


def _spans_before_cues(text: str) -> Iterator[tuple[int, int]]:
    """Yield the scopes of cues after findings: a list of findings, or the last finding before the cue."""
    starts = [0, *sorted(stop.end() for pattern in _scope_stops() for stop in pattern.finditer(text))]
    commas = [comma.end() for comma in re.finditer(",", text)]
    lists = [(match.end(), match.start()) for match in _ENUMERATION_END.finditer(text)]
    for cue in chain(cue_pattern("negation after").finditer(text), _ANSWERED_NO.finditer(text)):
        end = cue.start()
        start = starts[bisect_right(starts, end) - 1]
        enumeration = bisect_right(lists, (end, end)) - 1
        is_list = enumeration >= 0 and lists[enumeration][1] >= start
        comma = bisect_right(commas, end) - 1
        yield (start if is_list or comma < 0 else max(start, commas[comma])), end


def _scope_stops() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return cue_pattern("scope end"), _CLAUSE_BREAK


def negated_names(text: str, names: Sequence[tuple[int, int]]) -> list[bool]:
    """Return one bool per name of a finding: True if a cue before it, or after it and before a comma, negates it.

    Args:
        text: A lowercase sentence in which the names of findings are masked.
        names: Start and end of each name.

    >>> negated_names("no evidence of #### but ####", [(15, 19), (24, 28)])
    [True, False]
    """
    spans = [
        cue.span()
        for cue in _NAME_CUES.finditer(text)
        if not _NO_DENIALS.match(text, cue.start())
        and not (cue[0] == "inconsistent with" and text.endswith(_DENIALS_OF_CUE, 0, cue.start()))
    ]
    no_cues = [match.span() for match in _no_cues().finditer(text)] if spans else []
    answers = [answer.span() for answer in _ANSWERED_NO.finditer(text)]
    cues = [end for start, end in spans if not is_inside(no_cues, start) and not is_inside(answers, start)]
    after = (cue.start() for cue in _NAME_CUES_AFTER.finditer(text) if not _ON_PRIOR.match(text, cue.end()))
    certain = (start for start in after if not text.endswith(_DOUBT_BEFORE_CUE, 0, start))
    cues_after = [*sorted((*certain, *(start for start, _ in answers))), len(text)]
    commas = [*(comma.start() for comma in re.finditer(r"[,;\]]", text)), len(text)]
    return [
        is_reached or cues_after[bisect_left(cues_after, end)] < commas[bisect_left(commas, end)]
        for (_, end), is_reached in zip(names, reached_names(text, cues, names, DENIAL_STOP), strict=True)
    ]


@lru_cache(1)
def _no_cues() -> re.Pattern[str]:
    return compile_phrases(filter(_STATES_FINDING.search, load_lexicon()["no negation"]))


def reached_names(
    text: str, cue_ends: Sequence[int], names: Sequence[tuple[int, int]], stop: re.Pattern[str] = CLAUSE_STOP
) -> list[bool]:
    """Return one bool per name of a finding: True if a cue stands before it and no stop between them.

    Args:
        text: A lowercase sentence in which the names of findings are masked.
        cue_ends: End of each cue, in order.
        names: Start and end of each name.
        stop: Pattern of the ends of scopes.
    """
    stops = [match.span() for match in stop.finditer(text)]
    reached = []
    for start, _ in names:
        cue = bisect_right(cue_ends, start) - 1
        last = bisect_right(stops, start, key=itemgetter(1)) - 1
        reached.append(cue >= 0 and (last < 0 or stops[last][0] < cue_ends[cue]))
    return reached


def denial_end(sentence: str) -> int:
    """Return the length of the denial that a sentence starts with if a statement of its own follows; 0 otherwise.

    >>> text = "No pneumothorax, the heart is enlarged."
    >>> text[: denial_end(text)], denial_end("No edema is seen, and no effusion."), denial_end("The heart is large.")
    ('No pneumothorax', 0, 0)
    """
    lower = lowercase_same_length(sentence)
    if not _DENIAL.match(lower):
        return 0
    end = END_OF_DENIAL.search(lower)
    return end.start() if end else 0


def with_one_answer(text: str) -> str:
    """Return a text in which each answer that there is no finding is "none".

    >>> with_one_answer("Effusion: absent. Edema - not seen.")
    'Effusion: none. Edema: none.'
    """
    return _ANSWERED_NO.sub(": none", text)


def drop_negation_after(text: str) -> str:
    """Return a lowercase text without the cues that negate the name before them."""
    return _NAME_CUES_AFTER.sub(" ", text)


def drop_leading_negation(sentence: str) -> str | None:
    """Return a sentence without its leading negation, or None if it does not start with one.

    >>> drop_leading_negation("There is no evidence of pneumothorax."), drop_leading_negation("Small effusion.")
    ('There is a pneumothorax.', None)
    """
    match = _LEADING_NEGATION.match(sentence)
    if match is None:
        return None
    start = (match["verb"] or "") + ("a " if match["verb"] and match["singular"] else "")
    statement = start + sentence[match.end() :]
    return statement[:1].upper() + statement[1:]
