"""Samplers by the names in study files; imports no sampler."""

SAMPLERS = {
    "tpe": "Tree-structured Parzen estimator: proposes values near those that scored well.",
    "random": "Independent random values.",
    "grid": "Every combination of choices, in the order of the file.",
}
"""Samplers that a study file may name, with a one-line description."""
