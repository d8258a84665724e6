"""Generative evaluators, which answer in text, and the base class of their scorers."""
