"""Checkpoint callbacks, and the choice of the checkpoint to export."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.demos.boring_classes import BoringModel

from radreward.modules import RunFolder
from radreward.modules.checkpoints import ResumableEarlyStopping, best_checkpoint, checkpoint_callbacks


def test_checkpoint_callbacks_monitor_the_metric(tmp_path: Path) -> None:
    best, last = checkpoint_callbacks(RunFolder(tmp_path), "val_tau", 5)
    assert isinstance(best, ModelCheckpoint)
    assert isinstance(last, ModelCheckpoint)
    assert (best.monitor, best.mode) == ("val_tau", "max")
    stop = checkpoint_callbacks(RunFolder(tmp_path), "val_f1", 5, early_stop=3)[2]
    assert isinstance(stop, EarlyStopping)
    assert (stop.monitor, stop.mode, stop.patience) == ("val_f1", "max", 3)


def test_early_stopping_ends_resumed_run_that_had_stopped() -> None:
    for waited, stops in ((1, False), (2, True)):
        callback = ResumableEarlyStopping("val_tau", 2)
        callback.load_state_dict({**callback.state_dict(), "wait_count": waited})
        trainer: Any = SimpleNamespace(should_stop=False)
        callback.on_train_start(trainer, BoringModel())
        assert trainer.should_stop is stops


@pytest.mark.parametrize(("save_interval", "early_stop", "name"), [(0, None, "checkpoint_every"), (1, 0, "early_stop")])
def test_checkpoint_callbacks_number_below_1_raises(
    save_interval: int, early_stop: int | None, name: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"Expected `{name}` to be >= 1 but got 0"):
        checkpoint_callbacks(RunFolder(tmp_path), "val_tau", save_interval, early_stop)


@pytest.mark.parametrize(
    ("score", "expected"), [(0.5, Path("best.ckpt")), (-0.5, Path("best.ckpt")), (-torch.inf, None), (None, None)]
)
def test_best_checkpoint_needs_defined_metric(score: float | None, expected: Path | None) -> None:
    callback = ModelCheckpoint("folder", "best", monitor="val_tau", mode="max")
    callback.best_model_path, callback.best_model_score = "best.ckpt", None if score is None else torch.tensor(score)
    trainer: Any = SimpleNamespace(checkpoint_callback=callback)
    assert best_checkpoint(trainer) == expected


def test_best_checkpoint_without_checkpoints_is_none() -> None:
    trainer: Any = SimpleNamespace(checkpoint_callback=EarlyStopping("val_tau"))
    assert best_checkpoint(trainer) is None
