"""Sentences of the report grammar, read from sentences.txt.

In a template, {n} is the phrase of a finding, {a} the phrase with its article; {N} and {A} start with a capital.
"""

from __future__ import annotations

from radreward.text.section_files import read_sections

_SECTIONS = read_sections("sentences.txt")


def _by_findings(prefix: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the sections with titles "<prefix> <keys of findings>", by these keys."""
    return {tuple(title.split()[1:]): lines for title, lines in _SECTIONS.items() if title.split()[0] == prefix}


PRESENT_TEMPLATES = _SECTIONS["present"]
DEVICE_TEMPLATES = _SECTIONS["device present"]
UNCERTAIN_TEMPLATES = _SECTIONS["uncertain"]
ABSENT_TEMPLATES = _SECTIONS["absent"]
CHANGE_TEMPLATES = {change: _SECTIONS[change] for change in ("new", "worse", "better", "stable", "resolved")}
DEVICE_CHANGE_TEMPLATES = {change: _SECTIONS[f"device {change}"] for change in ("new", "stable", "resolved")}
NORMAL_STATEMENTS = _by_findings("normal")
"""Statements that negate findings without their names, by these findings."""
UNCHANGED_STATEMENTS = _by_findings("unchanged")
"""Statements that call the body parts of `NORMAL_STATEMENTS` unchanged.

Such a statement neither states nor negates a finding.
"""
UNCHANGED_DEVICE_STATEMENTS = _SECTIONS["devices unchanged"]
"""Used only if every device is unchanged."""
ALL_CLEAR_STATEMENTS = _SECTIONS["all clear"]
FILLER_SENTENCES = _SECTIONS["filler"]
CLINICAL_HISTORIES = _SECTIONS["clinical history"]
PRIOR_STUDIES = _SECTIONS["prior study"]
