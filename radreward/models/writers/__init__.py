"""Training data that a language model writes, and what is checked of it before it is kept."""

from radreward.models.writers.checks import LEVELS, Report, check
from radreward.models.writers.job import Job, Outcome, write
from radreward.models.writers.sheet import Accuracy, read_sheet, write_accuracies, write_sheet
from radreward.models.writers.source import read_pairs, read_references
from radreward.models.writers.tasks import TASKS, Analysis, Ask, Injection, Reasoning, Task, Tiers

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
