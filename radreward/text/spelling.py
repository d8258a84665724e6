"""British spellings of words that the vocabulary has in American spelling."""

from __future__ import annotations

import re

_BRITISH = (
    (re.compile(r"\bedema"), "oedema"),
    (re.compile(r"\bhem(?=[ao])"), "haem"),
    (re.compile(r"\besoph"), "oesoph"),
    (re.compile(r"tumor"), "tumour"),
    (re.compile(r"\bgoiter"), "goitre"),
    (re.compile(r"pnea"), "pnoea"),
    (re.compile(r"(?<=[a-z]{4})iz(?=ation|e|ing)"), "is"),
    (re.compile(r"\bcaliber"), "calibre"),
    (re.compile(r"\bcenter"), "centre"),
    (re.compile(r"ischemi"), "ischaemi"),
)


def spellings(phrase: str) -> tuple[str, ...]:
    """Return a lowercase phrase, and its British spelling if that differs.

    >>> spellings("pulmonary edema"), spellings("left hemidiaphragm")
    (('pulmonary edema', 'pulmonary oedema'), ('left hemidiaphragm',))
    """
    british = phrase
    for american, replacement in _BRITISH:
        british = american.sub(replacement, british)
    return (phrase,) if british == phrase else (phrase, british)
