"""Fitting W and p to rated pairs: optimizers, cross-validation and bootstrap intervals."""
