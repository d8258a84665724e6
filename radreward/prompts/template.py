"""How a reference and a candidate are put before a model: render to segments, from most shared to own."""

from __future__ import annotations

from abc import ABC, abstractmethod

from radreward._lazy_imports import import_object
from radreward.criteria import Criteria
from radreward.types import PromptSegments


class PromptTemplate(ABC):
    """A layout of reference, candidate and criteria; one method, called for every candidate in training and in use."""

    @abstractmethod
    def render(self, reference: str, candidate: str, criteria: Criteria) -> PromptSegments:
        """The prompt as pieces: what all reports share, what the candidates of a reference share, and the own piece."""


class PlainPairTemplate(PromptTemplate):
    """The two texts and nothing else: for small encoders, whose few positions must hold both reports.

    >>> from radreward.criteria import RadCliQ
    >>> PairTemplate().render("Clear lungs.", "No effusion.", RadCliQ())
    Segments(instruction='', reference='Clear lungs.', candidate='No effusion.')
    """

    def render(self, reference: str, candidate: str, criteria: Criteria) -> PromptSegments:
        """See `PromptTemplate.render`."""
        return PromptSegments("", reference, candidate)


TEMPLATES = {
    "PlainPairTemplate": "radreward.prompts.template.PlainPairTemplate",
    "InstructionTemplate": "radreward.systems.er2score.prompt.InstructionTemplate",
}
"""Templates that a saved model may name, and their import paths; code is never loaded from a model's folder."""


def template_class(name: str) -> type[PromptTemplate]:
    """Return the class of a template in `TEMPLATES`.

    Raises:
        KeyError: If there is no template of that name.

    >>> template_class("InstructionTemplate").__module__
    'radreward.systems.er2score.prompt'
    """
    found: type[PromptTemplate] = import_object(TEMPLATES[name])
    return found
