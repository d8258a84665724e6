"""Evaluation criteria: error types, their weights, published presets and definitions in YAML."""

from radreward.criteria.crimson import crimson_score
from radreward.criteria.criteria import Criteria, CriteriaError, Criterion, CriterionKind
from radreward.criteria.presets import (
    PRESETS,
    RADCLIQ_ERROR_TYPES,
    CrimsonCriteria,
    CriteriaFromYAML,
    MRScoreCriteria,
    RadCliQCriteria,
    RadCliQSignificanceCriteria,
    RatingCriteria,
    criteria_config,
    load_criteria,
)
from radreward.criteria.quality import DEFAULT_PRIOR, finding_quality, set_quality

__all__ = [
    "DEFAULT_PRIOR",
    "PRESETS",
    "RADCLIQ_ERROR_TYPES",
    "CrimsonCriteria",
    "Criteria",
    "CriteriaError",
    "CriteriaFromYAML",
    "Criterion",
    "CriterionKind",
    "MRScoreCriteria",
    "RadCliQCriteria",
    "RadCliQSignificanceCriteria",
    "RatingCriteria",
    "crimson_score",
    "criteria_config",
    "finding_quality",
    "load_criteria",
    "set_quality",
]
