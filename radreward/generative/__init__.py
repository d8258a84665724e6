"""Evaluators that answer in text: the saved evaluator and the base class of their scorers."""
