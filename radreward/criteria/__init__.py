"""Evaluation criteria: error types, their weights, published presets and definitions in YAML."""

from radreward.criteria.crimson import crimson_score
from radreward.criteria.criteria import Criteria, CriteriaError, Criterion
from radreward.criteria.presets import (
    PRESETS,
    CrimsonCriteria,
    CriteriaFromYAML,
    MRScoreCriteria,
    RadCliQCriteria,
    RadCliQSignificanceCriteria,
    RatingCriteria,
    load_criteria,
)
from radreward.criteria.quality import finding_quality, set_quality

__all__ = [
    "CrimsonCriteria",
    "Criteria",
    "CriteriaError",
    "CriteriaFromYAML",
    "Criterion",
    "MRScoreCriteria",
    "PRESETS",
    "RadCliQCriteria",
    "RadCliQSignificanceCriteria",
    "RatingCriteria",
    "crimson_score",
    "finding_quality",
    "load_criteria",
    "set_quality",
]
