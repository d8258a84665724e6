"""Relations between findings in addition to the more general one: signs, vague names, names with the same care."""

from __future__ import annotations

from radreward.text.section_files import read_sections

_SECTIONS = read_sections("relations.txt")


def _read_meanings(section: str) -> dict[str, frozenset[str]]:
    rows = (line.split(" | ") for line in _SECTIONS[section])
    return {name: frozenset(meanings.split()) for name, meanings in rows}


SHOWN_BY_SIGN = _read_meanings("shows")
"""Key of each sign → keys of the findings that it can show."""
MEANT_BY_VAGUE_NAME = _read_meanings("vague")
"""Key of each vague name → keys of the findings that it can mean."""
SAME_CARE = frozenset(frozenset(line.split()) for line in _SECTIONS["same care"])
"""Pairs of findings of which either name can replace the other."""
USED_FOR_EACH_OTHER = frozenset(frozenset(line.split()) for line in _SECTIONS["used for each other"])
"""Further pairs of this kind in reports by others; generated reports tell them apart."""
