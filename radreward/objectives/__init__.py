"""Objectives: losses on tensors of rewards and on rollouts, and how criteria weigh in them."""

from radreward.objectives.base import Objective, PairObjective, Reduction, TwoLevelObjective
from radreward.objectives.bradley_terry import BradleyTerry
from radreward.objectives.combined import SumOfObjectives
from radreward.objectives.listwise import ListwiseRanking
from radreward.objectives.margin import MarginRewardEnforcement
from radreward.objectives.regression import CountRegression
from radreward.objectives.rewards import (
    BinaryAccuracy,
    FormatReward,
    GaussianAccuracy,
    ReasoningReward,
    RewardFunction,
)
from radreward.objectives.rollouts import GroupRelative, RolloutObjective
from radreward.objectives.scaling import AdvantageScaling, Identity, MajorityGuided
from radreward.objectives.weighting import Dynamic, Fixed, SubScoreWeighting, Uniform

__all__ = [
    "AdvantageScaling",
    "BinaryAccuracy",
    "BradleyTerry",
    "CountRegression",
    "Dynamic",
    "Fixed",
    "FormatReward",
    "GaussianAccuracy",
    "GroupRelative",
    "Identity",
    "ListwiseRanking",
    "MajorityGuided",
    "MarginRewardEnforcement",
    "Objective",
    "PairObjective",
    "ReasoningReward",
    "Reduction",
    "RewardFunction",
    "RolloutObjective",
    "SubScoreWeighting",
    "SumOfObjectives",
    "TwoLevelObjective",
    "Uniform",
]
