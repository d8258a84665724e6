"""Training data without a language model: report grammar, perturbations, pairings and tasks; see `synthesis.llm`."""

from radreward.synthesis.pipeline import synthesize, synthesize_files

__all__ = ["synthesize", "synthesize_files"]
