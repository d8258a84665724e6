"""From the checkpoints of a run to a model in use. The whole way is in the tests of the commands."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

from radreward.data.collators.base import Collator
from radreward.data.collators.reward import RewardCollator
from radreward.data.datamodule import PairedReportDataModule
from radreward.errors import InputError
from radreward.modules import RewardModule, require_reward_collator
from radreward.modules.export import best_checkpoint, load_checkpoint_weights, predict_validation, round_to_float16
from radreward.prompts import PlainPairTemplate
from radreward.types import RewardTrainingBatch

Make = Callable[..., RewardModule]


class OtherCollator(Collator):
    def collate(self, groups: Any) -> Any:
        return groups


class OwnTemplate(PlainPairTemplate):
    """A layout of a user's own."""


def test_what_cannot_be_saved_is_told_before_a_run(module: Make) -> None:
    criteria = module().criteria
    good = PairedReportDataModule("groups.jsonl", criteria, RewardCollator(criteria, "tiny-llama"))
    assert require_reward_collator(good) is good.collator
    other: Any = SimpleNamespace()
    with pytest.raises(InputError, match="PairedReportDataModule for a reward model but got SimpleNamespace"):
        require_reward_collator(other)
    for collator, told in (
        (OtherCollator(), "RewardCollator for a reward model but got OtherCollator"),
        (RewardCollator(criteria, "tiny-llama", OwnTemplate()), "PlainPairTemplate.* but got OwnTemplate"),
    ):
        with pytest.raises(InputError, match=told):
            require_reward_collator(PairedReportDataModule("groups.jsonl", criteria, collator))


@pytest.mark.parametrize(
    ("score", "found"), [(0.5, Path("best.ckpt")), (-0.5, Path("best.ckpt")), (-torch.inf, None), (None, None)]
)
def test_the_best_checkpoint_is_one_with_a_defined_agreement(score: float | None, found: Path | None) -> None:
    callback = ModelCheckpoint("folder", "best", monitor="val_tau", mode="max")
    callback.best_model_path, callback.best_model_score = "best.ckpt", None if score is None else torch.tensor(score)
    trainer: Any = SimpleNamespace(checkpoint_callback=callback)
    assert best_checkpoint(trainer) == found


def test_no_checkpoints_have_no_best() -> None:
    trainer: Any = SimpleNamespace(checkpoint_callback=EarlyStopping("val_tau"))
    assert best_checkpoint(trainer) is None


def test_rounded_weights_are_what_float16_holds_and_frozen_ones_stay(module: Make) -> None:
    made = module()
    before = {name: value.detach().clone() for name, value in made.model.named_parameters()}
    round_to_float16(made)
    for name, value in made.model.named_parameters():
        assert torch.equal(value, before[name].half().float() if value.requires_grad else before[name])
    assert any(not torch.equal(value, before[name]) for name, value in made.model.named_parameters())


def test_weights_are_those_of_the_checkpoint(module: Make, tmp_path: Path) -> None:
    one, other = module(seed=0), module(seed=1)
    checkpoint: dict[str, Any] = {"state_dict": one.state_dict()}
    one.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "a.ckpt")
    assert not torch.equal(one.model.head.out.weight, other.model.head.out.weight)
    load_checkpoint_weights(other, tmp_path / "a.ckpt")
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())


def test_groups_of_all_batches_are_told_apart(module: Make, batch: RewardTrainingBatch) -> None:
    made = module().eval()
    data: Any = SimpleNamespace(val_dataloader=lambda: [batch, batch])

    class Trainer:
        def predict(self, predicted: RewardModule, batches: list[RewardTrainingBatch]) -> list[Any]:
            with torch.no_grad():
                return [predicted.predict_step(entry, 0) for entry in batches]

    trainer: Any = Trainer()
    judged, ids = predict_validation(trainer, made, data)
    assert ids == batch.ids * 2
    assert judged.group.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert torch.equal(judged.rewards[:5], judged.rewards[5:])
    assert judged.errors[:5].tolist() == [[0, 0], [1, 2], [0, 1], [0, 0], [1, 2]]
