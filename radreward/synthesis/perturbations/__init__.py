"""Edits of reports: one library for training data, sensitivity tests and triads."""
