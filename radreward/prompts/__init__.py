"""Prompt templates: render two reports to segments, and parse what a model answers."""

from radreward.prompts.template import TEMPLATES, PairTemplate, PromptTemplate

__all__ = ["TEMPLATES", "PairTemplate", "PromptTemplate"]
