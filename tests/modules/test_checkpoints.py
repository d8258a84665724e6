"""Checkpoint callbacks, and the choice of the checkpoint to export."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.demos.boring_classes import BoringModel

from radreward.errors import InputError
from radreward.modules import RunFolder
from radreward.modules.checkpoints import (
    ResumableEarlyStopping,
    best_checkpoint,
    checkpoint_callbacks,
    load_checkpoint,
)


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


def test_load_checkpoint_reports_every_flipped_bit_that_changes_its_content(tmp_path: Path) -> None:
    path, rng = tmp_path / "last.ckpt", random.Random(0)
    state: dict[str, Any] = {"weight": torch.randn(60), "step": 7, "nested": {"a": [torch.arange(9)]}, "name": "a-name"}
    torch.save(state, path)
    content = path.read_bytes()
    silent = content.count(bytes(state["weight"].numpy().tobytes())[:4])
    assert silent == 1  # the weights are stored as they are: a flipped bit is another number
    reported, messages = 0, set[str]()
    for bit in rng.sample(range(8 * len(content)), 500):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            loaded = load_checkpoint(path)
        except InputError as error:
            messages.add(str(error).partition(" (")[0])
            reported += 1
        else:  # a bit of the padding or of a time stamp
            assert str(loaded) == str(state)
            assert torch.equal(loaded["weight"], state["weight"])
    assert reported > 100
    assert messages == {f"{path}: Expected a checkpoint but it cannot be read or is damaged"}


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"text"])
def test_load_checkpoint_of_another_file_names_it(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.ckpt").write_bytes(content)
    for name in ("a.ckpt", "absent.ckpt"):
        with pytest.raises(InputError, match=rf"{name}: Expected a checkpoint but it cannot be read or is damaged \("):
            load_checkpoint(tmp_path / name)
