"""What is judged: criteria, the published presets, and a user's own from YAML."""

from radreward.criteria.criteria import Criteria, CriteriaError, Criterion, CriterionKind
from radreward.criteria.presets import (
    PRESETS,
    RADCLIQ_ERROR_TYPES,
    CriteriaFromYAML,
    MRScoreCriteria,
    RadCliQCriteria,
    RadCliQSignificanceCriteria,
    RatingCriteria,
    load_criteria,
)

__all__ = [
    "RADCLIQ_ERROR_TYPES",
    "PRESETS",
    "Criteria",
    "CriteriaError",
    "CriteriaFromYAML",
    "Criterion",
    "CriterionKind",
    "MRScoreCriteria",
    "RadCliQCriteria",
    "RadCliQSignificanceCriteria",
    "RatingCriteria",
    "load_criteria",
]
