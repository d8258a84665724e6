"""Training data written by a language model, with rule-based checks of every answer."""
