"""Conformance tests of all objectives and weightings of the package."""

from __future__ import annotations

from radreward.objectives import (
    BradleyTerry,
    CountRegression,
    DynamicWeighting,
    FindingRegression,
    FixedWeighting,
    LocatedErrors,
    MarginRewardEnforcement,
    PlackettLuce,
    QualityOrder,
    SumObjective,
    UniformWeighting,
)
from radreward.testing import ObjectiveConformance, WeightingConformance


class TestMarginRewardEnforcement(ObjectiveConformance):
    objective = staticmethod(lambda: MarginRewardEnforcement())


class TestMarginCriteriaOnly(ObjectiveConformance):
    objective = staticmethod(lambda: MarginRewardEnforcement(use_total=False, reduction="sum"))


class TestMarginTotalOnly(ObjectiveConformance):
    objective = staticmethod(lambda: MarginRewardEnforcement(use_criteria=False))


class TestMarginDynamic(ObjectiveConformance):
    objective = staticmethod(lambda: MarginRewardEnforcement(weighting=DynamicWeighting(update_interval=2)))


class TestBradleyTerry(ObjectiveConformance):
    objective = staticmethod(lambda: BradleyTerry())


class TestBradleyTerryMargin(ObjectiveConformance):
    objective = staticmethod(lambda: BradleyTerry(use_margin=True, weighting=FixedWeighting([1, 2, 3, 0, 1, 1])))


class TestPlackettLuce(ObjectiveConformance):
    objective = staticmethod(lambda: PlackettLuce(weighting=DynamicWeighting(update_interval=1)))


class TestHuber(ObjectiveConformance):
    objective = staticmethod(lambda: CountRegression(delta=0.5))


class TestPoisson(ObjectiveConformance):
    objective = staticmethod(lambda: CountRegression("poisson", weighting=DynamicWeighting(update_interval=3)))


class TestFindingRegression(ObjectiveConformance):
    objective = staticmethod(lambda: FindingRegression())


class TestQualityOrder(ObjectiveConformance):
    objective = staticmethod(lambda: QualityOrder())


class TestLocatedErrors(ObjectiveConformance):
    objective = staticmethod(lambda: LocatedErrors())


class TestSumObjective(ObjectiveConformance):
    objective = staticmethod(
        lambda: SumObjective(
            [
                MarginRewardEnforcement(weighting=DynamicWeighting(update_interval=1)),
                PlackettLuce(),
                CountRegression(reduction="sum"),
                FindingRegression(),
                LocatedErrors(reduction="sum"),
            ],
            [1.0, 0.5, 0.1, 1.0, 0.1],
        )
    )


class TestUniform(WeightingConformance):
    weighting = staticmethod(lambda: UniformWeighting())


class TestFixed(WeightingConformance):
    weighting = staticmethod(lambda: FixedWeighting([1, 2, 3, 0, 1, 1]))


class TestDynamic(WeightingConformance):
    weighting = staticmethod(lambda: DynamicWeighting(update_interval=2))


class TestDynamicEachStep(WeightingConformance):
    weighting = staticmethod(lambda: DynamicWeighting(update_interval=1, alpha=50))
