"""What a model that explains says of whole report generators: figures, representative errors, a plot of all."""

from radreward.systems.green.summary.explanations import ReportExplanation, explanations_from_scores, read_explanations
from radreward.systems.green.summary.summary import (
    ErrorSummary,
    summarize_explanations,
    summarize_files,
    summarize_scores,
)
from radreward.systems.green.summary.write_summary import write_summary

__all__ = [
    "ReportExplanation",
    "ErrorSummary",
    "read_explanations",
    "explanations_from_scores",
    "summarize_scores",
    "summarize_files",
    "summarize_explanations",
    "write_summary",
]
