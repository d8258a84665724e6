"""Conformance suites for people who subclass: inherit one in a test file and name what it has to test.

For an objective:

    from radreward.testing import ObjectiveConformance

    class TestMyLoss(ObjectiveConformance):
        objective = staticmethod(lambda: MyLoss(temperature=0.5))

for a weighting of the criteria `WeightingConformance` with `weighting`, for what trains on rollouts
`RolloutObjectiveConformance` with `objective`, `RewardFunctionConformance` with `reward` and
`AdvantageScalingConformance` with `scaling`, and for a metric that scores reports `ScorerConformance` with `scorer`.
pytest collects the inherited tests;
each also runs by itself, `TestMyLoss().test_dtypes()`, and raises an AssertionError that says what is wrong.
"""

from radreward.testing.objectives import ObjectiveConformance, WeightingConformance, make_reward_batch
from radreward.testing.rollouts import (
    AdvantageScalingConformance,
    RewardFunctionConformance,
    RolloutObjectiveConformance,
    make_completions,
    make_rollouts,
)
from radreward.testing.scorers import ScorerConformance

__all__ = [
    "AdvantageScalingConformance",
    "ObjectiveConformance",
    "RewardFunctionConformance",
    "RolloutObjectiveConformance",
    "ScorerConformance",
    "WeightingConformance",
    "make_completions",
    "make_reward_batch",
    "make_rollouts",
]
