"""How a reference and a candidate are put before a model: render to segments, from most shared to own."""

from __future__ import annotations

from abc import ABC, abstractmethod

from radreward.criteria import Criteria
from radreward.types import Segments


class PromptTemplate(ABC):
    """A layout of reference, candidate and criteria; one method, called for every candidate in training and in use."""

    @abstractmethod
    def render(self, reference: str, candidate: str, criteria: Criteria) -> Segments:
        """The prompt as pieces: what all reports share, what the candidates of a reference share, and the own piece."""


class PairTemplate(PromptTemplate):
    """The two texts and nothing else: for small encoders, whose few positions must hold both reports.

    >>> from radreward.criteria import RadCliQ
    >>> PairTemplate().render("Clear lungs.", "No effusion.", RadCliQ())
    Segments(instruction='', reference='Clear lungs.', candidate='No effusion.')
    """

    def render(self, reference: str, candidate: str, criteria: Criteria) -> Segments:
        """See `PromptTemplate.render`."""
        return Segments("", reference, candidate)


class InstructionTemplate(PromptTemplate):
    """An instruction with the criteria, then both reports: for decoders.

    >>> from radreward.criteria import RadCliQ
    >>> print(InstructionTemplate().render("Clear lungs.", "No effusion.", RadCliQ()).instruction[:52])
    Compare a candidate radiology report with its refere
    """

    def render(self, reference: str, candidate: str, criteria: Criteria) -> Segments:
        """See `PromptTemplate.render`."""
        items = "\n".join(f"- {criterion.name}: {criterion.description}" for criterion in criteria.criteria)
        return Segments(
            "Compare a candidate radiology report with its reference. Judge the candidate by these criteria:\n"
            f"{items}\n\nReference report:\n",
            f"{reference}\n\nCandidate report:\n",
            f"{candidate}\n\nJudgement:",
        )


TEMPLATES: dict[str, type[PromptTemplate]] = {entry.__name__: entry for entry in (PairTemplate, InstructionTemplate)}
"""Those that a saved model may name; code is never loaded from a model's folder."""
