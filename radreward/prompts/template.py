"""Prompt templates: a reference and a candidate as segments, from the most shared to the most specific."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from radreward._lazy_imports import import_object
from radreward.criteria import Criteria
from radreward.types import PromptSegments


class PromptTemplate(ABC):
    """Layout of reference, candidate and criteria."""

    standardizes_reports: ClassVar[bool] = False
    """True if the reports are converted by `standard_wording`; then the prompt must not contain other text."""
    separates_statements: ClassVar[bool] = False
    """True if each statement of a candidate sees only itself and the reference; only with standardized reports."""

    def reads(self, statement: str) -> bool:
        """Return True for a statement that standardized prompts keep."""
        from radreward.text.standard_wording import may_report_finding  # half a second to import

        return may_report_finding(statement)

    def in_bfloat16(self) -> PromptTemplate:
        """Return the template of a scorer that computes in bfloat16: another one only if it has a model."""
        return self

    def prepare(self, reports: Sequence[str]) -> None:  # noqa: B027 - most templates have nothing to prepare
        """Prepare for the prompts of many reports; results do not depend on it."""

    def fingerprint(self) -> str:
        """Return a text that differs between templates with different prompts."""
        return type(self).__name__

    @abstractmethod
    def render(self, reference: str, candidate: str, criteria: Criteria) -> PromptSegments:
        """Return the segments of a prompt; called for every candidate in training and in use."""


class PlainPairTemplate(PromptTemplate):
    """Both reports and nothing else, for small encoders with few positions.

    >>> from radreward.criteria import RadCliQCriteria
    >>> PlainPairTemplate().render("Clear lungs.", "No effusion.", RadCliQCriteria())
    PromptSegments(instruction='', reference='Clear lungs.', candidate='No effusion.')
    """

    standardizes_reports = True

    def render(self, reference: str, candidate: str, criteria: Criteria) -> PromptSegments:
        """See `PromptTemplate.render`."""
        return PromptSegments("", reference, candidate)


class StatementPairTemplate(PlainPairTemplate):
    """Both reports, each statement of the candidate apart.

    The states of a statement then depend on this statement and the reference only. Neither the order of independent
    statements nor the other statements of the candidate change them.
    """

    separates_statements = True


TEMPLATES = {
    "PlainPairTemplate": "radreward.prompts.template.PlainPairTemplate",
    "StatementPairTemplate": "radreward.prompts.template.StatementPairTemplate",
    "GatedStatementPairTemplate": "radreward.systems.er2score.gated_template.GatedStatementPairTemplate",
    "InstructionTemplate": "radreward.systems.er2score.prompt.InstructionTemplate",
}
"""Import path of each template that a saved model may name; no code is loaded from a model's folder."""


def template_class(name: str) -> type[PromptTemplate]:
    """Return the class of a template in `TEMPLATES`.

    Raises:
        KeyError: If `TEMPLATES` has no such name.

    >>> template_class("InstructionTemplate").__module__
    'radreward.systems.er2score.prompt'
    """
    template: type[PromptTemplate] = import_object(TEMPLATES[name])
    return template
