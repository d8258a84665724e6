"""What a model that explains says of whole report generators: figures, representative errors, a plot of all."""

from radreward.systems.green.summary.explanations import Reasons, read_reasons, reasons_of
from radreward.systems.green.summary.summary import Summary, summarize, summarize_files, summary_of
from radreward.systems.green.summary.write_summary import write_summary

__all__ = [
    "Reasons",
    "Summary",
    "read_reasons",
    "reasons_of",
    "summarize",
    "summarize_files",
    "summary_of",
    "write_summary",
]
