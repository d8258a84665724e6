"""Prompt templates, and parsing of the answers that a model gives to them."""

from radreward.prompts.template import TEMPLATES, PlainPairTemplate, PromptTemplate

__all__ = ["TEMPLATES", "PlainPairTemplate", "PromptTemplate"]
