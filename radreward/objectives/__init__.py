"""Training objectives: losses on rewards and on rollouts, criterion weightings and reward functions."""

from radreward.objectives.advantage_estimators import (
    AdvantageEstimator,
    CenteredAdvantage,
    MedianAdvantage,
    StandardizedAdvantage,
)
from radreward.objectives.advantage_scaling import (
    AdvantageScaling,
    DifficultyScaling,
    MajorityGuidedScaling,
    NoScaling,
)
from radreward.objectives.base import CriterionAndTotalObjective, Objective, PairObjective
from radreward.objectives.bradley_terry import BradleyTerry
from radreward.objectives.count_regression import CountRegression
from radreward.objectives.finding_weights import FindingRegression, QualityOrder
from radreward.objectives.grpo import GRPO, RolloutObjective, Rollouts
from radreward.objectives.located_errors import LocatedErrors
from radreward.objectives.margin_reward_enforcement import MarginRewardEnforcement
from radreward.objectives.plackett_luce import PlackettLuce
from radreward.objectives.reward_functions import (
    BinaryAccuracy,
    FormatReward,
    GaussianAccuracy,
    ReasoningReward,
    RewardFunction,
)
from radreward.objectives.sum_objective import SumObjective
from radreward.objectives.token_averages import AllTokenAverage, CompletionAverage, FixedLengthAverage, TokenAverage
from radreward.objectives.weighting import CriterionWeighting, DynamicWeighting, FixedWeighting, UniformWeighting

__all__ = [
    "GRPO",
    "AdvantageEstimator",
    "AdvantageScaling",
    "AllTokenAverage",
    "BinaryAccuracy",
    "BradleyTerry",
    "CenteredAdvantage",
    "CompletionAverage",
    "CountRegression",
    "CriterionAndTotalObjective",
    "CriterionWeighting",
    "DifficultyScaling",
    "DynamicWeighting",
    "FindingRegression",
    "FixedLengthAverage",
    "FixedWeighting",
    "FormatReward",
    "GaussianAccuracy",
    "LocatedErrors",
    "MajorityGuidedScaling",
    "MarginRewardEnforcement",
    "MedianAdvantage",
    "NoScaling",
    "Objective",
    "PairObjective",
    "PlackettLuce",
    "QualityOrder",
    "ReasoningReward",
    "RewardFunction",
    "RolloutObjective",
    "Rollouts",
    "StandardizedAdvantage",
    "SumObjective",
    "TokenAverage",
    "UniformWeighting",
]
