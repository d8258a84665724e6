"""Every objective and every weighting of the package passes the shipped suites."""

from __future__ import annotations

from radreward.objectives import (
    BradleyTerry,
    CountRegression,
    Dynamic,
    Fixed,
    ListwiseRanking,
    MarginRewardEnforcement,
    SumOfObjectives,
    Uniform,
)
from radreward.testing import ObjectiveConformance, WeightingConformance


class TestMarginRewardEnforcement(ObjectiveConformance):
    objective = staticmethod(lambda: MarginRewardEnforcement())


class TestMarginIndividualOnly(ObjectiveConformance):
    objective = staticmethod(lambda: MarginRewardEnforcement(total=False, reduction="sum"))


class TestMarginTotalOnly(ObjectiveConformance):
    objective = staticmethod(lambda: MarginRewardEnforcement(individual=False))


class TestMarginDynamic(ObjectiveConformance):
    objective = staticmethod(lambda: MarginRewardEnforcement(weighting=Dynamic(every=2)))


class TestBradleyTerry(ObjectiveConformance):
    objective = staticmethod(lambda: BradleyTerry())


class TestBradleyTerryMargin(ObjectiveConformance):
    objective = staticmethod(lambda: BradleyTerry(margin=True, weighting=Fixed([1, 2, 3, 0, 1, 1])))


class TestListwiseRanking(ObjectiveConformance):
    objective = staticmethod(lambda: ListwiseRanking(weighting=Dynamic(every=1)))


class TestHuber(ObjectiveConformance):
    objective = staticmethod(lambda: CountRegression(delta=0.5))


class TestPoisson(ObjectiveConformance):
    objective = staticmethod(lambda: CountRegression("poisson", weighting=Dynamic(every=3)))


class TestSumOfObjectives(ObjectiveConformance):
    objective = staticmethod(
        lambda: SumOfObjectives(
            [MarginRewardEnforcement(weighting=Dynamic(every=1)), ListwiseRanking(), CountRegression(reduction="sum")],
            [1.0, 0.5, 0.1],
        )
    )


class TestUniform(WeightingConformance):
    weighting = staticmethod(lambda: Uniform())


class TestFixed(WeightingConformance):
    weighting = staticmethod(lambda: Fixed([1, 2, 3, 0, 1, 1]))


class TestDynamic(WeightingConformance):
    weighting = staticmethod(lambda: Dynamic(every=2))


class TestDynamicEachStep(WeightingConformance):
    weighting = staticmethod(lambda: Dynamic(every=1, alpha=50))
