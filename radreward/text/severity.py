"""Severity of findings: one scale of three levels for degrees and sizes, and its words."""

from __future__ import annotations

import re

SEVERITY_WORDS: dict[str, tuple[str, ...]] = {
    "mild": ("mild", "small", "minimal", "slight", "trace", "tiny", "subtle", "minor"),
    "moderate": ("moderate", "moderate-sized", "moderately severe", "mild to moderate"),
    "severe": ("severe", "large", "marked", "extensive", "massive", "substantial"),
}
"""Adjectives of each level, the most common first."""
SEVERITY_LEVELS = {severity: level for level, severity in enumerate(SEVERITY_WORDS)}
SEVERITY_ADVERBS = {"mild": ("mildly", "minimally"), "moderate": ("moderately",), "severe": ("markedly", "severely")}
SIZE_WORDS = frozenset({"small", "trace", "tiny", "moderate-sized", "large", "massive"})
"""Adjectives of `SEVERITY_WORDS` that state a size."""
SEVERITY_SCALES = (
    ("mild", "moderate", "severe"),
    ("small", "moderate", "large"),
    ("tiny", "moderate-sized", "massive"),
    ("trace", "moderate", "large"),
    ("slight", "moderate", "marked"),
    ("subtle", "moderate", "extensive"),
    ("minor", "moderate", "substantial"),
    ("minimal", "moderate", "marked"),
    ("mildly", "moderately", "severely"),
    ("minimally", "moderately", "markedly"),
)
"""Words of one kind, from mild to severe. The words differ only in level."""

_SEVERITY_OF_ENTRY = {
    phrase: severity
    for words in (SEVERITY_WORDS, SEVERITY_ADVERBS)
    for severity, phrases in words.items()
    for phrase in phrases
}
_RANGES = {
    "mild to moderate": "moderate",
    "small to moderate": "moderate",
    "moderate to large": "severe",
    "moderate to severe": "severe",
}
SEVERITY_OF_PHRASE: dict[str, str] = _SEVERITY_OF_ENTRY | {
    "mildly increased": "mild",
    "moderately large": "severe",
    "sizable": "severe",
    "huge": "severe",
    "borderline": "mild",
    "slightly": "mild",
    "a little": "mild",
    "a bit of": "mild",
    "considerable": "severe",
    "sizeable": "severe",
    "gross": "severe",
    "grossly": "severe",
    "barely visible": "mild",
    "trivial": "mild",
    "faint": "mild",
    "sliver of": "mild",
    "enormous": "severe",
    "florid": "severe",
    "heavily": "severe",
    "voluminous": "severe",
    **{phrase.replace(" ", "-"): severity for phrase, severity in _RANGES.items()},
    **_RANGES,
}
"""The level of each phrase of the sentence parser."""

NEAR_SEVERITY = frozenset({"advanced", "heavy", "high-grade", "low-grade", "profound"})
"""Words that state the degree of a finding only right before its name: fever can be low-grade, too."""
SEVERITY_OF_PHRASE |= {word: "mild" if word == "low-grade" else "severe" for word in NEAR_SEVERITY}

_SEVERITY_OF_WORD = {word: severity for word, severity in _SEVERITY_OF_ENTRY.items() if " " not in word}
_SEVERITY_OF_WORD["slightly"] = "mild"
_SEVERITY_WORD = re.compile(r"\b(?:" + "|".join(_SEVERITY_OF_WORD) + r")\b")


def first_severity(text: str) -> str | None:
    """Return the level of the first word of severity in a text, or None if it has none.

    >>> first_severity("moderately enlarged heart with a small effusion"), first_severity("heart")
    ('moderate', None)
    """
    match = _SEVERITY_WORD.search(text.lower())
    return _SEVERITY_OF_WORD[match[0]] if match else None
