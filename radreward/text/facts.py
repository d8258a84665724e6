"""What a report states, apart from its wording."""

from __future__ import annotations

from typing import Literal, NamedTuple

Polarity = Literal["present", "absent", "uncertain"]
Change = Literal["new", "worse", "better", "stable", "resolved"]
Section = Literal["indication", "comparison", "findings", "impression"]


class Fact(NamedTuple):
    """One finding as stated; what is None is not stated.

    >>> Fact("effusion", location="left", severity="mild").positive
    True
    """

    finding: str
    """A key of `FINDINGS`."""
    polarity: Polarity = "present"
    location: str | None = None
    severity: str | None = None
    change: Change | None = None

    @property
    def positive(self) -> bool:
        """Whether the finding is reported as there, certainly or not."""
        return self.polarity != "absent"


class Sentence(NamedTuple):
    """A sentence and what it states; a sentence without facts is filler."""

    text: str
    facts: tuple[Fact, ...]
    section: Section = "findings"


class AnnotatedReport(NamedTuple):
    """A report as sentences."""

    sentences: tuple[Sentence, ...]
    has_headings: bool = False
    """Whether sections are introduced by their names."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What the report states, each once, in order; what was said fully is not said again by a shorter form."""
        stated = list(dict.fromkeys(fact for sentence in self.sentences for fact in sentence.facts))
        return tuple(fact for fact in stated if not any(_is_more_specific(other, fact) for other in stated))

    @property
    def text(self) -> str:
        """The report as one text."""
        parts: list[str] = []
        section = None
        for sentence in self.sentences:
            if self.has_headings and sentence.section != section:
                section = sentence.section
                parts.append(f"{section.capitalize()}:")
            parts.append(sentence.text)
        return " ".join(parts)


def _is_more_specific(other_fact: Fact, fact: Fact) -> bool:
    """Whether `other` states all that `fact` does and something besides."""
    same = other_fact.finding == fact.finding and other_fact.positive == fact.positive
    pairs = zip(other_fact[2:], fact[2:], strict=True)
    return same and other_fact != fact and other_fact[2:] != fact[2:] and all(b is None or a == b for a, b in pairs)
