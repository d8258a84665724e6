"""Fit the affinity matrix W and the penalty p: optimizers, cross-validation, bootstrap."""
