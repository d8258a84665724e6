"""Sentence evaluation: judge each sentence of two reports, then regress the overall score."""
