"""Model and data provide what an objective needs, or an error names the setting."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from radreward.criteria import RadCliQCriteria
from radreward.data.collators.reward import RewardCollator
from radreward.data.paired_datamodule import PairedReportDataModule
from radreward.data.records import write_groups
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.modules import RewardModule
from radreward.objectives import BradleyTerry, FindingRegression, LocatedErrors, Objective, QualityOrder, SumObjective
from radreward.types import Candidate, FindingWeights, ReportGroup

Make = Callable[..., RewardModule]


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (
            LocatedErrors(),
            "LocatedErrors needs evidence per token: Expected `architecture` to be evidence but got 'pooled'",
        ),
        (SumObjective([BradleyTerry(), SumObjective([LocatedErrors()])]), "^LocatedErrors needs evidence per token"),
    ],
)
def test_objective_that_needs_another_architecture_raises(module: Make, objective: Objective, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        module(objective)


class NeedsReasons(FindingRegression):
    needs = frozenset({"reasons"})


def test_unknown_need_raises(module: Make) -> None:
    with pytest.raises(
        ValueError, match="NeedsReasons: Expected `needs` to be among finding_weights, located_errors but got 'reasons'"
    ):
        module(SumObjective([NeedsReasons(), FindingRegression()]))


@pytest.mark.parametrize(
    ("objective", "predicts_findings"),
    [
        (None, False),
        (BradleyTerry(), False),
        (QualityOrder(), True),
        (SumObjective([BradleyTerry(), SumObjective([FindingRegression()])]), True),
    ],
)
def test_model_predicts_only_what_the_objective_needs(
    module: Make, objective: Objective | None, predicts_findings: bool
) -> None:
    model = module(objective).model
    assert model.predicts_findings == predicts_findings
    assert any(name.startswith("finding_head") for name, _ in model.named_parameters()) == predicts_findings


def make_data(folder: Path, weights: FindingWeights | None) -> PairedReportDataModule:
    criteria = RadCliQCriteria()
    none = dict.fromkeys(criteria.tags, 0.0)
    candidates = (Candidate("Clear.", none, finding_weights=weights), Candidate("Hazy.", {**none, "omission": 1.0}))
    paths = [str(folder / f"{name}.jsonl") for name in ("train", "validation")]
    for path in paths:
        write_groups(path, [ReportGroup("a", "Edema.", candidates)])
    data = PairedReportDataModule(paths[0], criteria, RewardCollator(criteria, "tiny-bert"), paths[1])
    data.setup()
    return data


def make_module(objective: Objective) -> RewardModule:
    return RewardModule(RadCliQCriteria(), Backbone("tiny-bert"), objective, "evidence")


def test_data_without_targets_that_the_objective_needs_raise(tmp_path: Path) -> None:
    both = SumObjective([BradleyTerry(), QualityOrder(), FindingRegression()])
    with pytest.raises(
        InputError, match=r"train\.jsonl: .* `matched` and `wrong`, which QualityOrder and FindingRegression"
    ):
        make_module(both).check_data(make_data(tmp_path, None))
    data = make_data(tmp_path, FindingWeights(1.0, 0.0))
    make_module(both).check_data(data)
    with pytest.raises(InputError, match="`located_errors`, which LocatedErrors needs, .* or leave LocatedErrors out"):
        make_module(SumObjective([both, LocatedErrors()])).check_data(data)


def test_located_errors_are_collated_only_for_an_objective_that_needs_them(tmp_path: Path) -> None:
    data = make_data(tmp_path, None)
    module: Any = make_module(BradleyTerry())
    module._trainer = SimpleNamespace(datamodule=data)
    module.setup("fit")
    assert next(iter(data.train_dataloader())).targets.located_errors is None
