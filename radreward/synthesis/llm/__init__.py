"""Training data that a language model writes, and what is checked of it before it is kept."""

from radreward.synthesis.llm.generation_job import Job, Outcome, write
from radreward.synthesis.llm.inputs import read_pairs, read_references
from radreward.synthesis.llm.review_sheet import Accuracy, read_sheet, write_accuracies, write_sheet
from radreward.synthesis.llm.tasks import TASKS, Analysis, Ask, Injection, Reasoning, Task, Tiers
from radreward.synthesis.llm.validation import LEVELS, Report, check

__all__ = [
    "LEVELS",
    "TASKS",
    "Accuracy",
    "Analysis",
    "Ask",
    "Injection",
    "Job",
    "Outcome",
    "Reasoning",
    "Report",
    "Task",
    "Tiers",
    "check",
    "read_pairs",
    "read_references",
    "read_sheet",
    "write",
    "write_accuracies",
    "write_sheet",
]
