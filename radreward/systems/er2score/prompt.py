"""ER²Score's prompt: an instruction with the criteria, then both reports."""

from __future__ import annotations

from radreward.criteria import Criteria
from radreward.prompts.template import PromptTemplate
from radreward.types import PromptSegments


class InstructionTemplate(PromptTemplate):
    """A prompt for decoders: an instruction with the criteria, then both reports.

    >>> from radreward.criteria import RadCliQCriteria
    >>> print(InstructionTemplate().render("Clear lungs.", "No effusion.", RadCliQCriteria()).instruction[:52])
    Compare a candidate radiology report with its refere
    """

    def render(self, reference: str, candidate: str, criteria: Criteria) -> PromptSegments:
        """See `PromptTemplate.render`."""
        items = "\n".join(f"- {criterion.name}: {criterion.description}" for criterion in criteria.criteria)
        return PromptSegments(
            "Compare a candidate radiology report with its reference. Judge the candidate by these criteria:\n"
            f"{items}\n\nReference report:\n",
            f"{reference}\n\nCandidate report:\n",
            f"{candidate}\n\nJudgement:",
        )
