"""Templates for models that answer in text: the prompt, the target answer and its parser."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

from radreward.criteria import Criteria
from radreward.prompts.parsing import ParsedAnswer
from radreward.prompts.template import PromptTemplate


class ErrorAnalysis(NamedTuple):
    """The content of an answer: error counts of a candidate for N criteria, with explanations."""

    error_counts: tuple[float, ...]
    """(N,)."""
    explanation: str
    """Comparison of the two reports in words."""
    error_texts: tuple[tuple[str, ...], ...]
    """(N,) descriptions of the errors of each criterion; there may be fewer than counted."""
    matched_findings: tuple[str, ...]
    """Findings of both reports."""


class GenerativeTemplate(PromptTemplate):
    """Layout of a prompt and of its answer; `parse` reads what `render_answer` writes, and never raises."""

    @abstractmethod
    def render_answer(self, analysis: ErrorAnalysis, criteria: Criteria) -> str:
        """Return the answer that a model learns; called for every candidate in training."""

    @abstractmethod
    def parse(self, text: str, criteria: Criteria) -> ParsedAnswer:
        """Parse an answer. Never raises; takes at most linear time in the length of the answer."""

    @abstractmethod
    def stop_string(self, criteria: Criteria) -> str:
        """Return the text at which generation stops; an answer has it at its end only. Empty if there is none."""

    def answer_statistics(self, text: str, criteria: Criteria) -> dict[str, float | None]:
        """Return further numbers of an answer by name, such as its score; None if unparsable.

        SFT logs the absolute error of each against the target answer. The names must not depend on the text.
        """
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the constructor arguments that restore this template; none, unless overridden."""
        return {}


def one_line(text: str) -> str:
    r"""Return a text without line breaks, so that it cannot start a section of an answer.

    >>> one_line(" Two \n lines ")
    'Two lines'
    """
    return " ".join(text.split())


def format_count(value: float) -> str:
    """Return a number of errors as text, integers without a decimal point.

    >>> format_count(2.0), format_count(0.5)
    ('2', '0.5')
    """
    return str(int(value)) if value == int(value) else repr(float(value))
