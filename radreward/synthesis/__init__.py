"""Training data from rules: report grammar, perturbations and candidate strategies; `llm` uses a language model."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.synthesis.candidate_strategies import load_candidate_writer
    from radreward.synthesis.candidate_writer import CandidateWriter, GroupRequest, Reference, WrittenCandidate
    from radreward.synthesis.contrast_candidates import ContrastWriter
    from radreward.synthesis.error_profiles import ProfileWriter
    from radreward.synthesis.fact_analysis_writer import FactAnalysisWriter
    from radreward.synthesis.graded_candidates import GradedWriter
    from radreward.synthesis.green_pairings import GreenPairingWriter
    from radreward.synthesis.group_generator import GroupGenerator, WrittenGroup
    from radreward.synthesis.groups import synthesize, synthesize_files
    from radreward.synthesis.tier_writer import TierWriter

__all__ = [
    "CandidateWriter",
    "ContrastWriter",
    "FactAnalysisWriter",
    "GradedWriter",
    "GreenPairingWriter",
    "GroupGenerator",
    "GroupRequest",
    "ProfileWriter",
    "Reference",
    "TierWriter",
    "WrittenCandidate",
    "WrittenGroup",
    "load_candidate_writer",
    "synthesize",
    "synthesize_files",
]

__getattr__ = lazy_exports(__name__)
