"""Facts of a report, independent of wording, and the agreement of two facts."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from radreward.text.findings import is_related, means_same_care
from radreward.text.locations import contains_location

Polarity = Literal["present", "absent", "uncertain"]
Change = Literal["new", "worse", "better", "stable", "resolved"]
Section = Literal["indication", "comparison", "findings", "impression"]


class Fact(NamedTuple):
    """A finding as a text states it; a detail is None if it is not stated.

    >>> Fact("effusion", location="left", severity="mild").positive
    True
    """

    finding: str
    """A key of `FINDINGS`."""
    polarity: Polarity = "present"
    location: str | None = None
    severity: str | None = None
    change: Change | None = None
    size: float | None = None
    """Largest diameter in mm."""

    @property
    def positive(self) -> bool:
        """True if the finding is reported as present or as uncertain."""
        return self.polarity != "absent"


class Sentence(NamedTuple):
    """A sentence and its facts; a sentence without facts is filler."""

    text: str
    facts: tuple[Fact, ...]
    section: Section = "findings"

    def with_full_stop(self) -> Sentence:
        """Return the sentence with a full stop, so that another can follow it.

        >>> Sentence("No edema", ()).with_full_stop().text
        'No edema.'
        """
        return self if self.text.endswith((".", "!", "?")) else self._replace(text=self.text + ".")


class AnnotatedReport(NamedTuple):
    """A report as a sequence of sentences."""

    sentences: tuple[Sentence, ...]
    has_headings: bool = False
    """True if the text names each section."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Distinct facts in order, without facts that a more specific one of the report includes."""
        stated = dict.fromkeys(fact for sentence in self.sentences for fact in sentence.facts)
        by_finding: dict[str, list[Fact]] = {}
        for fact in stated:
            by_finding.setdefault(fact.finding, []).append(fact)
        if len(by_finding) == len(stated):
            return tuple(stated)
        return tuple(
            fact for fact in stated if not any(_is_more_specific(other, fact) for other in by_finding[fact.finding])
        )

    @property
    def text(self) -> str:
        """The full text."""
        parts: list[str] = []
        section = None
        for sentence in self.sentences:
            if self.has_headings and sentence.section != section:
                section = sentence.section
                parts.append(f"{section.capitalize()}:")
            parts.append(sentence.text)
        return " ".join(parts)


def _is_more_specific(other: Fact, fact: Fact) -> bool:
    """Return True if `other` states all details of `fact`, and more."""
    if other is fact or other.positive != fact.positive or other[2:] == fact[2:]:
        return False
    return all(b is None or a == b for a, b in zip(other[2:], fact[2:], strict=True))


def states_same_finding(first: Fact, second: Fact) -> bool:
    """Return True if two facts are about the same finding and their details do not contradict each other.

    >>> left = Fact("effusion", location="left", severity="mild")
    >>> states_same_finding(left, Fact("effusion")), states_same_finding(left, Fact("effusion", location="right"))
    (True, False)
    """
    return (
        first.positive == second.positive
        and means_same_care(first.finding, second.finding)
        and (not first.location or not second.location or contains_location(first.location, second.location))
        and all(not a or not b or a == b for a, b in zip(first[3:], second[3:], strict=True))
    )


@lru_cache(20_000)
def known_agreement(first: tuple[Fact, ...], second: tuple[Fact, ...]) -> float | None:
    """Return 1 if two texts state the same finding, 0 if they state unrelated ones, None if undecided.

    Absent findings are ignored. A pair is undecided if a text has no other findings, or if the findings are related but
    not the same, or only one of them is certain.

    >>> edema, scar, nodule, mass = ((Fact(key),) for key in ("edema", "scar", "nodule", "mass"))
    >>> known_agreement(edema, edema + scar), known_agreement(edema, scar)
    (1.0, 0.0)
    >>> known_agreement(nodule, mass), known_agreement(edema, ()), known_agreement(edema, (Fact("edema", "uncertain"),))
    (None, None, None)
    """
    pairs = [(own, other) for own in first if own.positive for other in second if other.positive]
    if any(own.polarity == other.polarity and states_same_finding(own, other) for own, other in pairs):
        return 1.0
    is_unrelated = bool(pairs) and not any(is_related(own.finding, other.finding) for own, other in pairs)
    return 0.0 if is_unrelated else None
