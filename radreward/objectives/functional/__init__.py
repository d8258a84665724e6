"""Formulas of the objectives as pure functions of tensors."""
