"""Prompt templates, and parsing of the answers that a model gives to them."""

from radreward.prompts.generative_template import ErrorAnalysis, GenerativeTemplate
from radreward.prompts.parsing import ParsedAnswer
from radreward.prompts.template import PlainPairTemplate, PromptTemplate

__all__ = ["ErrorAnalysis", "GenerativeTemplate", "ParsedAnswer", "PlainPairTemplate", "PromptTemplate"]
