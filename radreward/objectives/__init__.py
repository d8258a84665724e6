"""Objectives: losses on tensors of rewards and on rollouts, and how criteria weigh in them."""

from radreward.objectives.advantage_scaling import AdvantageScaling, Identity, MajorityGuided
from radreward.objectives.base import Objective, PairObjective, Reduction, TwoLevelObjective
from radreward.objectives.bradley_terry import BradleyTerry
from radreward.objectives.count_regression import CountRegression
from radreward.objectives.grpo import GroupRelative, RolloutObjective
from radreward.objectives.margin_reward_enforcement import MarginRewardEnforcement
from radreward.objectives.plackett_luce import ListwiseRanking
from radreward.objectives.reward_functions import (
    BinaryAccuracy,
    FormatReward,
    GaussianAccuracy,
    ReasoningReward,
    RewardFunction,
)
from radreward.objectives.weighted_sum import SumOfObjectives
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
