"""Prompt templates, and parsers of the answers to them."""

from radreward.prompts.generative_template import ErrorAnalysis, GenerativeTemplate
from radreward.prompts.parsing import ParsedAnswer
from radreward.prompts.template import PlainPairTemplate, PromptTemplate, StatementPairTemplate

__all__ = [
    "ErrorAnalysis",
    "GenerativeTemplate",
    "ParsedAnswer",
    "PlainPairTemplate",
    "PromptTemplate",
    "StatementPairTemplate",
]
