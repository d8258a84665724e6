"""Training objectives: losses on rewards and on rollouts, criterion weightings and reward functions."""

from radreward.objectives.advantage_scaling import AdvantageScaling, MajorityGuidedScaling, NoScaling
from radreward.objectives.base import CriterionAndTotalObjective, Objective, PairObjective, Reduction
from radreward.objectives.bradley_terry import BradleyTerry
from radreward.objectives.count_regression import CountRegression
from radreward.objectives.grpo import GRPO, RolloutObjective, Rollouts
from radreward.objectives.margin_reward_enforcement import MarginRewardEnforcement
from radreward.objectives.plackett_luce import PlackettLuce
from radreward.objectives.reward_functions import (
    BinaryAccuracy,
    FormatReward,
    GaussianAccuracy,
    ReasoningReward,
    RewardFunction,
)
from radreward.objectives.weighted_sum import WeightedSumObjective
from radreward.objectives.weighting import CriterionWeighting, DynamicWeighting, FixedWeighting, UniformWeighting

__all__ = [
    "GRPO",
    "AdvantageScaling",
    "BinaryAccuracy",
    "BradleyTerry",
    "CountRegression",
    "CriterionAndTotalObjective",
    "CriterionWeighting",
    "DynamicWeighting",
    "FixedWeighting",
    "FormatReward",
    "GaussianAccuracy",
    "MajorityGuidedScaling",
    "MarginRewardEnforcement",
    "NoScaling",
    "Objective",
    "PairObjective",
    "PlackettLuce",
    "ReasoningReward",
    "Reduction",
    "RewardFunction",
    "RolloutObjective",
    "Rollouts",
    "UniformWeighting",
    "WeightedSumObjective",
]
