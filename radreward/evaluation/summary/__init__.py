"""What a model that explains says of whole report generators: figures, representative errors, a plot of all."""

from radreward.evaluation.summary.files import write_summary
from radreward.evaluation.summary.reasons import Reasons, read_reasons, reasons_of
from radreward.evaluation.summary.summary import Summary, summarize, summarize_files, summary_of

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
