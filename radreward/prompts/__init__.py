"""Layouts of prompts."""

from radreward.prompts.template import TEMPLATES, InstructionTemplate, PairTemplate, PromptTemplate

__all__ = ["TEMPLATES", "InstructionTemplate", "PairTemplate", "PromptTemplate"]
