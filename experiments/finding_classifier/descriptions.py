"""Statements in descriptions.txt: findings in words other than their names, no finding, and other findings.

Texts in no_reports.txt are about other subjects than chest radiographs; nothing is fitted to no_reports_held_out.txt.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from radreward.text.section_files import phrases_of, read_sections

WRITERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
"""Writers of descriptions; under each stand those of rare findings by one other."""


def described_findings(*writers: str) -> dict[str, str]:
    """Return phrases and sentences that describe a finding → its key.

    >>> described_findings("first")["The right lung has come away from the rib cage at the top."]
    'pneumothorax'
    """
    rows = (line.split(" | ") for writer in writers for line in _sections()[f"{writer} descriptions"])
    return {text: key for key, texts in rows for text in phrases_of([texts])}


def plain_statements(*writers: str) -> tuple[str, ...]:
    """Return statements without a finding, in words other than those of wording.txt.

    >>> "The lung markings reach the chest wall on both sides." in plain_statements("first")
    True
    """
    return tuple(text for writer in writers for text in phrases_of([" ".join(_sections()[f"{writer} statements"])]))


def other_statements() -> tuple[str, ...]:
    """Return statements of an abnormality that do not say which it is, and those of findings without a key.

    >>> "The mediastinum is abnormal." in other_statements()
    True
    """
    sections = _sections()
    return tuple(phrases_of([" ".join((*sections["vague statements"], *sections["statements of other findings"]))]))


def near_misses() -> dict[str, str]:
    """Return statements that a finding is not there, in words of this finding → its key.

    >>> near_misses()["What looked like a nodule on the earlier film was a button."]
    'nodule'
    """
    rows = (line.split(" | ") for line in _sections()["near misses"])
    return {text: key for key, texts in rows for text in phrases_of([texts])}


def no_reports(name: str = "no_reports.txt") -> list[str]:
    """Return texts about other subjects than chest radiographs, some of them in words of radiology, and nonsense.

    >>> len(no_reports()), len(no_reports("no_reports_held_out.txt"))
    (1000, 300)
    """
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


@cache
def _sections() -> dict[str, tuple[str, ...]]:
    return read_sections("descriptions.txt", "experiments.finding_classifier")
