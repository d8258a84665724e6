"""Pure functions behind the objectives: tensors in, tensors out."""
