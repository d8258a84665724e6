"""What is judged: criteria, the published presets, and a user's own from YAML."""

from radreward.criteria.criteria import Criteria, CriteriaError, Criterion, Kind
from radreward.criteria.presets import (
    ERROR_TYPES,
    PRESETS,
    CriteriaFile,
    MRScore,
    RadCliQ,
    RadCliQSignificance,
    Rating,
    load_criteria,
)

__all__ = [
    "ERROR_TYPES",
    "PRESETS",
    "Criteria",
    "CriteriaError",
    "CriteriaFile",
    "Criterion",
    "Kind",
    "MRScore",
    "RadCliQ",
    "RadCliQSignificance",
    "Rating",
    "load_criteria",
]
