"""Export of reward models: dry run of the objective, validation predictions, metrics, data that can be saved."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from radreward.data.collators.base import Collator
from radreward.data.collators.reward import RewardCollator
from radreward.data.paired_datamodule import PairedReportDataModule
from radreward.errors import InputError
from radreward.modules import RewardModule
from radreward.modules.reward_export import example_batch, predict_validation, require_reward_collator
from radreward.objectives import FindingRegression, LocatedErrors, MarginRewardEnforcement, QualityOrder, SumObjective
from radreward.prompts import PlainPairTemplate
from radreward.types import RewardTrainingBatch

Make = Callable[..., RewardModule]


class OtherCollator(Collator):
    def collate(self, groups: Any) -> Any:
        return groups


class UserTemplate(PlainPairTemplate):
    """A user-defined template."""


def test_example_batch_suits_every_included_objective() -> None:
    objective = SumObjective([MarginRewardEnforcement(), FindingRegression(), QualityOrder(), LocatedErrors()])
    assert objective(example_batch(torch.tensor([1.0, 0.5]), objective.needs)).loss.isfinite()


def test_example_batch_has_only_the_parts_that_are_needed() -> None:
    example = example_batch(torch.tensor([1.0, 0.5]), frozenset({"located_errors"}))
    assert example.finding_weights is None
    assert example.located_errors is not None


def test_predict_validation_numbers_groups_over_batches(module: Make, batch: RewardTrainingBatch) -> None:
    reward_module = module().eval()
    data: Any = SimpleNamespace(val_dataloader=lambda: [batch, batch])

    class FakeTrainer:
        def predict(self, predicted: RewardModule, batches: list[RewardTrainingBatch]) -> list[Any]:
            with torch.no_grad():
                return [predicted.predict_step(entry, 0) for entry in batches]

    trainer: Any = FakeTrainer()
    candidates, group_ids = predict_validation(reward_module, trainer, data)
    assert group_ids == batch.ids * 2
    assert candidates.group.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert torch.equal(candidates.rewards[:5], candidates.rewards[5:])
    assert candidates.errors[:5].tolist() == [[0, 0], [1, 2], [0, 1], [0, 0], [1, 2]]


@pytest.mark.parametrize("known", [True, False])
def test_measure_reports_quality_if_weights_of_findings_are_known(
    module: Make, known_findings: RewardTrainingBatch, batch: RewardTrainingBatch, known: bool
) -> None:
    reward_module = module(FindingRegression())
    with torch.no_grad():
        prediction = reward_module.predict_step(known_findings if known else batch, 0)
    trainer: Any = SimpleNamespace(predict=lambda *_: [prediction, prediction])
    data: Any = SimpleNamespace(val_dataloader=lambda: None)
    table = reward_module.exporter.measure(reward_module, trainer, data).metrics
    assert ("quality" in table) == known
    if known:
        assert table["quality"]["count_mae"] is not None
        assert table["quality"].keys() == table["total"].keys()


def test_require_reward_collator_rejects_data_that_cannot_be_exported(module: Make) -> None:
    criteria = module().criteria
    good = PairedReportDataModule("groups.jsonl", criteria, RewardCollator(criteria, "tiny-llama"))
    assert require_reward_collator(good) is good.collator
    other: Any = SimpleNamespace()
    with pytest.raises(InputError, match="PairedReportDataModule for a reward model but got SimpleNamespace"):
        require_reward_collator(other)
    for collator, message in (
        (OtherCollator(), "RewardCollator for a reward model but got OtherCollator"),
        (RewardCollator(criteria, "tiny-llama", UserTemplate()), "PlainPairTemplate.* but got UserTemplate"),
    ):
        with pytest.raises(InputError, match=message):
            require_reward_collator(PairedReportDataModule("groups.jsonl", criteria, collator))
