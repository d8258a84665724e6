"""Prompt templates: a reference and a candidate as segments, from the most shared to the most specific."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from radreward._lazy_imports import import_object
from radreward.criteria import Criteria
from radreward.types import PromptSegments


class PromptTemplate(ABC):
    """Layout of reference, candidate and criteria."""

    standardizes_reports: ClassVar[bool] = False
    """True if reports are read in the wording of `standard_wording`; the prompt must have nothing else."""

    @abstractmethod
    def render(self, reference: str, candidate: str, criteria: Criteria) -> PromptSegments:
        """Return the segments of a prompt; called for every candidate in training and in use."""


class PlainPairTemplate(PromptTemplate):
    """The two texts alone, for small encoders whose few positions must hold both reports.

    >>> from radreward.criteria import RadCliQCriteria
    >>> PlainPairTemplate().render("Clear lungs.", "No effusion.", RadCliQCriteria())
    PromptSegments(instruction='', reference='Clear lungs.', candidate='No effusion.')
    """

    standardizes_reports = True

    def render(self, reference: str, candidate: str, criteria: Criteria) -> PromptSegments:
        """See `PromptTemplate.render`."""
        return PromptSegments("", reference, candidate)


TEMPLATES = {
    "PlainPairTemplate": "radreward.prompts.template.PlainPairTemplate",
    "InstructionTemplate": "radreward.systems.er2score.prompt.InstructionTemplate",
}
"""Import paths of the templates that a saved model may name; code is never loaded from a model's folder."""


def template_class(name: str) -> type[PromptTemplate]:
    """Return the class of a template in `TEMPLATES`.

    Raises:
        KeyError: If `TEMPLATES` has no such name.

    >>> template_class("InstructionTemplate").__module__
    'radreward.systems.er2score.prompt'
    """
    template: type[PromptTemplate] = import_object(TEMPLATES[name])
    return template
