"""Statements that all is well: they deny findings without naming them, or say nothing that can be wrong."""

from __future__ import annotations

import re

from radreward.text.sentence_templates import ALL_CLEAR_STATEMENTS, NORMAL_STATEMENTS


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_GRAMMAR_STATEMENTS = {
    re.sub(r"\W+", " ", text.lower()).strip(): keys for keys, texts in NORMAL_STATEMENTS.items() for text in texts
}
_GRAMMAR_ALL_CLEAR = {re.sub(r"\W+", " ", text.lower()).strip() for text in ALL_CLEAR_STATEMENTS}
_NEGATED_BY_SUBJECT = {
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
"""What is called normal, and which findings that denies."""
_NEGATED_BY_WORD = {word: keys for words, keys in _NEGATED_BY_SUBJECT.items() for word in words.split()}
_NORMAL_WORDS = _word_set("normal unremarkable clear sharp intact")
_FUNCTION_WORDS = _word_set(
    "the and or both visualized visible pulmonary lung fields silhouette silhouettes size sizes contour contours of "
    "structures surfaces spaces angles sulci is are appear appears remain remains in for well expanded grossly thorax "
    "bilaterally appearance there show shows reveal reveals demonstrate demonstrates without no acute evidence "
    "abnormality abnormalities finding findings"
)
_ABNORMALITY_WORDS = _word_set("no without acute evidence abnormality abnormalities finding findings")
_NORMAL_LIMITS = re.compile(r"within (?:the )?(?:normal limits|limits of normal)(?: (?:of|for|in) size)?")
_UNINFORMATIVE_WORDS = _word_set(
    "no evidence of acute active radiographic cardiopulmonary intrathoracic pulmonary chest disease abnormality "
    "abnormalities process processes finding findings identified seen there is are the in normal negative for "
    "unremarkable radiograph study examination exam"
)


def negated_findings(sentence: str) -> tuple[str, ...]:
    """The findings that a lower case sentence denies by calling a part of the body normal, else none.

    >>> denied_findings("the heart and mediastinum appear normal.")
    ('cardiomegaly', 'widemed')
    >>> denied_findings("the heart is normal but the lungs are not.")
    ()
    >>> denied_findings("heart size is at the upper limits of normal.")
    ()
    """
    words = _words(sentence)
    if keys := _GRAMMAR_STATEMENTS.get(" ".join(words)):
        return keys
    words = _NORMAL_LIMITS.sub("normal", " ".join(words)).replace("upper abdomen", "abdomen").split()
    known = set(words)
    well = bool(known & _NORMAL_WORDS) and not known & _ABNORMALITY_WORDS
    nothing = (
        not known & _NORMAL_WORDS
        and bool(known & {"no", "without"})
        and {"acute"} < known
        and bool(known & _ABNORMALITY_WORDS)
    )
    if not (well or nothing) or not known <= _NEGATED_BY_WORD.keys() | _NORMAL_WORDS | _FUNCTION_WORDS:
        return ()
    return tuple(dict.fromkeys(key for word in words for key in _NEGATED_BY_WORD.get(word, ())))


def is_uninformative(sentence: str) -> bool:
    """Whether a lower case sentence sums up that nothing was found, or has no words.

    >>> says_nothing("no evidence of active disease."), says_nothing("no evidence of change.")
    (True, False)
    """
    words = _words(sentence)
    known = set(words)
    sums_up = bool(known & {"no", "normal", "negative", "unremarkable"}) and known <= _UNINFORMATIVE_WORDS
    return not words or sums_up or " ".join(words) in _GRAMMAR_ALL_CLEAR


def _words(sentence: str) -> list[str]:
    return re.sub(r"\W+", " ", sentence).split()
