"""Training data written by a language model, with rule-based checks of every answer."""

from radreward.synthesis.llm.generation_job import GenerationJob, JobResult, run_job
from radreward.synthesis.llm.inputs import read_pair_groups, read_references
from radreward.synthesis.llm.review_sheet import (
    ReviewerAgreement,
    read_review_sheet,
    write_agreements,
    write_review_sheet,
)
from radreward.synthesis.llm.tasks import (
    TASKS,
    ErrorAnalysisTask,
    ErrorInjection,
    GenerationRequest,
    GenerationTask,
    ReasoningTask,
    TieredCandidates,
)
from radreward.synthesis.llm.validation import CHECK_LEVELS, CheckResult, check_reported_errors

__all__ = [
    "CHECK_LEVELS",
    "TASKS",
    "ReviewerAgreement",
    "ErrorAnalysisTask",
    "GenerationRequest",
    "ErrorInjection",
    "GenerationJob",
    "JobResult",
    "ReasoningTask",
    "CheckResult",
    "GenerationTask",
    "TieredCandidates",
    "check_reported_errors",
    "read_pair_groups",
    "read_references",
    "read_review_sheet",
    "run_job",
    "write_agreements",
    "write_review_sheet",
]
