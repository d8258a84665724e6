"""Sensitivity tests: scores should fall on injected errors and stay constant under meaning-preserving edits."""
