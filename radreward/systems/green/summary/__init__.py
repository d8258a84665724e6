"""Summary of report generators: error statistics, representative errors and a plot of all errors."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.systems.green.summary.explanations import (
        ReportExplanation,
        explanations_from_scores,
        read_explanations,
    )
    from radreward.systems.green.summary.summary import ErrorSummary, summarize_explanations, summarize_files
    from radreward.systems.green.summary.summary_files import write_summary

__all__ = [
    "ErrorSummary",
    "ReportExplanation",
    "explanations_from_scores",
    "read_explanations",
    "summarize_explanations",
    "summarize_files",
    "write_summary",
]

__getattr__ = lazy_exports(__name__)
