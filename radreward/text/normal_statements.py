"""Statements that all is well: they deny findings without naming them, or say nothing that can be wrong."""

from __future__ import annotations

import re

from radreward.text.sentence_templates import ALL_CLEAR, NORMAL


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WRITTEN = {re.sub(r"\W+", " ", text.lower()).strip(): keys for keys, texts in NORMAL.items() for text in texts}
_CLEAR = {re.sub(r"\W+", " ", text.lower()).strip() for text in ALL_CLEAR}
_DENIED = {
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
_SUBJECTS = {word: keys for words, keys in _DENIED.items() for word in words.split()}
_WELL = _set("normal unremarkable clear sharp intact")
_GLUE = _set(
    "the and or both visualized visible pulmonary lung fields silhouette silhouettes size sizes contour contours of "
    "structures surfaces spaces angles sulci is are appear appears remain remains in for well expanded grossly thorax "
    "bilaterally appearance there show shows reveal reveals demonstrate demonstrates without no acute evidence "
    "abnormality abnormalities finding findings"
)
_ABNORMAL = _set("no without acute evidence abnormality abnormalities finding findings")
_LIMITS = re.compile(r"within (?:the )?(?:normal limits|limits of normal)(?: (?:of|for|in) size)?")
_NOTHING = _set(
    "no evidence of acute active radiographic cardiopulmonary intrathoracic pulmonary chest disease abnormality "
    "abnormalities process processes finding findings identified seen there is are the in normal negative for "
    "unremarkable radiograph study examination exam"
)


def denied_findings(sentence: str) -> tuple[str, ...]:
    """The findings that a lower case sentence denies by calling a part of the body normal, else none.

    >>> denied_findings("the heart and mediastinum appear normal.")
    ('cardiomegaly', 'widemed')
    >>> denied_findings("the heart is normal but the lungs are not.")
    ()
    >>> denied_findings("heart size is at the upper limits of normal.")
    ()
    """
    words = _words(sentence)
    if keys := _WRITTEN.get(" ".join(words)):
        return keys
    words = _LIMITS.sub("normal", " ".join(words)).replace("upper abdomen", "abdomen").split()
    known = set(words)
    well = bool(known & _WELL) and not known & _ABNORMAL
    nothing = not known & _WELL and bool(known & {"no", "without"}) and {"acute"} < known and bool(known & _ABNORMAL)
    if not (well or nothing) or not known <= _SUBJECTS.keys() | _WELL | _GLUE:
        return ()
    return tuple(dict.fromkeys(key for word in words for key in _SUBJECTS.get(word, ())))


def says_nothing(sentence: str) -> bool:
    """Whether a lower case sentence sums up that nothing was found, or has no words.

    >>> says_nothing("no evidence of active disease."), says_nothing("no evidence of change.")
    (True, False)
    """
    words = _words(sentence)
    known = set(words)
    sums_up = bool(known & {"no", "normal", "negative", "unremarkable"}) and known <= _NOTHING
    return not words or sums_up or " ".join(words) in _CLEAR


def _words(sentence: str) -> list[str]:
    return re.sub(r"\W+", " ", sentence).split()
