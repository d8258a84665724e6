"""Facts of a report, independent of wording."""

from __future__ import annotations

from typing import Literal, NamedTuple

from radreward.text.findings import FINDINGS

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
    """Largest diameter in mm; of a device, the distance of its tip, see `tip_distance`."""
    descriptors: tuple[str, ...] = ()
    """Words that exclude others, see `described_facts`; generated facts have none."""

    @property
    def undescribed(self) -> Fact:
        """The same fact without descriptors, as `sentence_facts` returns it."""
        return self._replace(descriptors=())

    @property
    def details(self) -> tuple[object, ...]:
        """Location, severity, change and size."""
        return self[2:6]

    @property
    def positive(self) -> bool:
        """True if the finding is reported as present or as uncertain."""
        return self.polarity != "absent"

    def completed_by(self, other: Fact) -> Fact:
        """Return this fact with the details that only the other one states, and the more specific location."""
        return self._replace(
            location=max(self.location or "", other.location or "", key=len) or None,
            severity=self.severity or other.severity,
            change=self.change or other.change,
            size=self.size or other.size,
            descriptors=tuple(sorted({*self.descriptors, *other.descriptors})),
        )

    @property
    def is_stated(self) -> bool:
        """True if the finding is present, uncertain or resolved, and False if it is denied.

        >>> Fact("edema", "absent", change="resolved").is_stated, Fact("edema", "absent").is_stated
        (True, False)
        """
        return self.positive or self.change == "resolved"


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
    details = zip(other.details, fact.details, strict=True)
    return all(b is None or a == b for a, b in details) and set(fact.descriptors) <= set(other.descriptors)


def describe_fact(fact: Fact) -> str:
    """Return the standard words of a fact.

    >>> describe_fact(Fact("nodule", "uncertain", "left lower", change="new", size=6.0))
    'possible left lower pulmonary nodule, 6 mm, new'
    """
    certainty = "possible" if fact.polarity == "uncertain" else None
    name = FINDINGS[fact.finding].plain_names[0]
    words = [word for word in (certainty, fact.severity, fact.location, name) if word]
    size = f"{fact.size:g} mm" if fact.size and not FINDINGS[fact.finding].is_device else None
    return ", ".join([" ".join(words), *(detail for detail in (size, fact.change, *fact.descriptors) if detail)])
