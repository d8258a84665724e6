"""Prompt templates: render two reports to segments, and parse what a model answers."""

from radreward.prompts.template import TEMPLATES, PlainPairTemplate, PromptTemplate

__all__ = ["TEMPLATES", "PlainPairTemplate", "PromptTemplate"]
