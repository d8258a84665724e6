"""Layouts for models that answer in text: what they are asked, what they are to answer, and how it is read."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from radreward.criteria import Criteria
from radreward.prompts.parsing import ParsedAnswer
from radreward.prompts.template import PromptTemplate
from radreward.types import ErrorAnalysis


class GenerativeTemplate(PromptTemplate):
    """A layout of a question and of its answer; `parse` reads what `render_answer` writes, and bears anything else."""

    @abstractmethod
    def render_answer(self, analysis: ErrorAnalysis, criteria: Criteria) -> str:
        """The answer that a model is to learn; called for every candidate in training."""

    @abstractmethod
    def parse(self, text: str, criteria: Criteria) -> ParsedAnswer:
        """What an answer says. Never raises, and takes time in proportion to the answer's length at most."""

    @abstractmethod
    def stop_string(self, criteria: Criteria) -> str:
        """What stands at an answer's end and nowhere before it: generation may stop there; empty where nothing does."""

    def to_dict(self) -> dict[str, Any]:
        """Arguments of the constructor that make this layout again; none, unless overridden."""
        return {}


def one_line(text: str) -> str:
    r"""Text without line breaks, so that it can begin no section of an answer.

    >>> one_line(" Two \n lines ")
    'Two lines'
    """
    return " ".join(text.split())


def format_count(value: float) -> str:
    """A number of errors as answers state it: whole ones without a point.

    >>> written_number(2.0), written_number(0.5)
    ('2', '0.5')
    """
    return str(int(value)) if value == int(value) else repr(float(value))
