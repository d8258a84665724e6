"""Normal statements: sentences that negate findings without naming them, or report no finding."""

from __future__ import annotations

import re
from itertools import chain

from radreward.text.sentence_templates import ALL_CLEAR_STATEMENTS, NORMAL_STATEMENTS, UNCHANGED_STATEMENTS


def _words(sentence: str) -> list[str]:
    return re.sub(r"\W+", " ", sentence).split()


def _key(sentence: str) -> str:
    return " ".join(_words(sentence.lower()))


_GRAMMAR_STATEMENTS = {_key(text): keys for keys, texts in NORMAL_STATEMENTS.items() for text in texts}
_GRAMMAR_UNINFORMATIVE = {_key(text) for text in chain(ALL_CLEAR_STATEMENTS, *UNCHANGED_STATEMENTS.values())}
_FINDINGS_OF_SUBJECTS = {
    "heart cardiac cardio": ("cardiomegaly",),
    "cardiomediastinal": ("cardiomegaly", "widemed"),
    "mediastinum mediastinal": ("widemed",),
    "hila hilar": ("adenopathy",),
    "lungs": ("opacity", "consolidation"),
    "pleura pleural": ("effusion", "pneumothorax"),
    "costophrenic": ("effusion",),
    "vasculature vascularity": ("edema", "congestion"),
    "osseous bony bones skeleton skeletal": ("fracture",),
    "abdomen": ("freeair",),
}
_FINDINGS_OF_SUBJECT = {word: keys for words, keys in _FINDINGS_OF_SUBJECTS.items() for word in words.split()}
"""Findings that a sentence negates if it calls the subject normal."""
_NORMAL_WORDS = frozenset(("normal", "unremarkable", "clear", "sharp", "intact"))
_FUNCTION_WORDS = frozenset(
    _words(
        "the and or both visualized visible pulmonary lung fields silhouette silhouettes size sizes contour contours "
        "of structures surfaces spaces angles sulci is are appear appears remain remains in for well expanded grossly "
        "thorax bilaterally appearance there show shows reveal reveals demonstrate demonstrates without no acute "
        "evidence abnormality abnormalities finding findings again still now has have returned to"
    )
)
_ABNORMALITY_WORDS = frozenset(_words("no without acute evidence abnormality abnormalities finding findings"))
_DENIAL = re.compile(r"\b(?:not|no longer|far from) ")
_NORMAL_LIMITS = re.compile(r"within (?:the )?(?:normal limits|limits of normal)(?: (?:of|for|in) size)?")
_TECHNIQUE = re.compile(
    r",? (?:accounting for|allowing for|although|despite|for|given|on) (?:[a-z]+ ){0,3}"
    r"(?:film|position|positioning|projection|radiograph|rotation|technique|view)\s?\.?$"
)
"""The technique at the end of a sentence that calls something normal."""
_UNINFORMATIVE_WORDS = frozenset(
    _words(
        "no evidence of acute active radiographic cardiopulmonary intrathoracic pulmonary chest disease abnormality "
        "abnormalities process processes finding findings identified seen there is are the in normal negative for "
        "unremarkable radiograph study examination exam"
    )
)


def findings_about(text: str) -> frozenset[str]:
    """Return the findings that are absent if the body parts that a text names are normal.

    >>> sorted(findings_about("The heart takes up much of the chest."))
    ['cardiomegaly']
    """
    return frozenset(key for word in _words(text.lower()) for key in _FINDINGS_OF_SUBJECT.get(word, ()))


def negated_findings(sentence: str) -> tuple[str, ...]:
    """Return the findings that a lowercase sentence negates by calling a body part normal.

    >>> negated_findings("the heart and mediastinum appear normal.")
    ('cardiomegaly', 'widemed')
    >>> negated_findings("the heart is normal but the lungs are not.")
    ()
    >>> negated_findings("heart size is normal despite the ap projection.")
    ('cardiomegaly',)
    >>> negated_findings("heart size is at the upper limits of normal.")
    ()
    """
    words = _words(_TECHNIQUE.sub("", sentence))
    if keys := _GRAMMAR_STATEMENTS.get(" ".join(words)):
        return keys
    words = _NORMAL_LIMITS.sub("normal", " ".join(words)).replace("upper abdomen", "abdomen").split()
    distinct = set(words)
    calls_normal = bool(distinct & _NORMAL_WORDS) and not distinct & _ABNORMALITY_WORDS
    negates_abnormality = (
        not distinct & _NORMAL_WORDS
        and bool(distinct & {"no", "without"})
        and {"acute"} < distinct
        and bool(distinct & _ABNORMALITY_WORDS)
    )
    allowed = _FINDINGS_OF_SUBJECT.keys() | _NORMAL_WORDS | _FUNCTION_WORDS
    if not (calls_normal or negates_abnormality) or not distinct <= allowed:
        return ()
    return tuple(dict.fromkeys(key for word in words for key in _FINDINGS_OF_SUBJECT.get(word, ())))


def denied_normality(sentence: str) -> str | None:
    """Return the finding that a lowercase sentence states by calling a body part not normal, or None.

    >>> denied_normality("heart size is not normal."), denied_normality("the lungs are clear.")
    ('cardiomegaly', None)
    """
    normal, number = _DENIAL.subn("", sentence)
    keys = negated_findings(normal) if number == 1 else ()
    return keys[0] if keys else None


def is_uninformative(sentence: str) -> bool:
    """Return True if a lowercase sentence reports no finding at all, or has no words.

    >>> is_uninformative("no evidence of active disease."), is_uninformative("no evidence of change.")
    (True, False)
    >>> is_uninformative("the heart size is unchanged.")
    True
    """
    words = _words(sentence)
    distinct = set(words)
    is_summary = bool(distinct & {"no", "normal", "negative", "unremarkable"}) and distinct <= _UNINFORMATIVE_WORDS
    return not words or is_summary or " ".join(words) in _GRAMMAR_UNINFORMATIVE
