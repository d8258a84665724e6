"""Removed settings of `fit`, and their replacements."""

REMOVED_SETTINGS = {
    "findings_weight": (
        "`findings_weight` was removed: add FindingRegression and QualityOrder to the objective, "
        "as in experiments/er2score/embedded.yaml."
    ),
    "passage_weight": (
        "`passage_weight` was removed: add LocatedErrors to the objective, as in experiments/er2score/embedded.yaml."
    ),
}
"""Remedy per removed setting, for the message about an unknown setting."""
