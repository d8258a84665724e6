"""Objectives: losses on tensors of rewards, and how criteria weigh in them."""

from radreward.objectives.base import Objective, PairObjective, Reduction, TwoLevelObjective
from radreward.objectives.bradley_terry import BradleyTerry
from radreward.objectives.combined import SumOfObjectives
from radreward.objectives.listwise import ListwiseRanking
from radreward.objectives.margin import MarginRewardEnforcement
from radreward.objectives.regression import CountRegression
from radreward.objectives.weighting import Dynamic, Fixed, SubScoreWeighting, Uniform

__all__ = [
    "BradleyTerry",
    "CountRegression",
    "Dynamic",
    "Fixed",
    "ListwiseRanking",
    "MarginRewardEnforcement",
    "Objective",
    "PairObjective",
    "Reduction",
    "SubScoreWeighting",
    "SumOfObjectives",
    "TwoLevelObjective",
    "Uniform",
]
