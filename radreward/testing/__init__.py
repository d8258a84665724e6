"""Conformance suites for your own classes: subclass a suite in a test file and provide the object to test.

For an objective:

    from radreward.testing import ObjectiveConformance

    class TestMyLoss(ObjectiveConformance):
        objective = staticmethod(lambda: MyLoss(temperature=0.5))

The other suites are `WeightingConformance` with `weighting`, `RolloutObjectiveConformance` with `objective`,
`RewardFunctionConformance` with `reward`, `AdvantageScalingConformance` with `scaling`, and `ScorerConformance` with
`scorer`. pytest collects the inherited tests. A test can also be called directly, as in `TestMyLoss().test_dtypes()`;
it raises an AssertionError with the reason if it fails.

`hostile_report` and `hostile_reports` generate difficult texts for tests of your own classes.
"""

from radreward.testing.hostile_reports import hostile_report, hostile_reports
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
    "hostile_report",
    "hostile_reports",
    "make_completions",
    "make_reward_batch",
    "make_rollouts",
]
