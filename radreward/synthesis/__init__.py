"""Training data without a language model: a report grammar, error operators, pairings."""

from radreward.synthesis.pipeline import synthesize, synthesize_files

__all__ = ["synthesize", "synthesize_files"]
