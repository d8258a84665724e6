"""Layouts of prompts."""

from radreward.prompts.examples import SCORES
from radreward.prompts.sentence_answer import PROBLEMS
from radreward.prompts.sentences import SentencePrompt, sentence_ids
from radreward.prompts.template import TEMPLATES, InstructionTemplate, PairTemplate, PromptTemplate

__all__ = [
    "PROBLEMS",
    "SCORES",
    "TEMPLATES",
    "InstructionTemplate",
    "PairTemplate",
    "PromptTemplate",
    "SentencePrompt",
    "sentence_ids",
]
