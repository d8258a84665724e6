"""Equal seeds give bit-equal weights: in two runs, with workers, and after a kill at any step."""

import shutil
import signal
from collections.abc import Callable
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from radreward.cli import main
from tests.tiny_run import settings

STEPS = 12  # two epochs of 5 batches and a part of the third

KILLER = """
import multiprocessing, os, signal
import torch
from lightning.pytorch import Callback

torch.set_num_threads(1)  # as in the resumed process
multiprocessing.set_start_method("fork", force=True)  # for workers

class Killer(Callback):
    def __init__(self, hook: str, step: int) -> None:
        setattr(self, hook, lambda trainer, *_: trainer.global_step == step and os.kill(os.getpid(), signal.SIGKILL))
"""


def write_config(folder: Path, val_check_interval: float, checkpoint_every: int) -> Path:
    values = settings(folder, max_steps=STEPS, val_check_interval=val_check_interval)
    values |= {"checkpoint_every": checkpoint_every, "early_stop": 50}
    # weights that depend on counts since the start
    weighting = {"class_path": "DynamicWeighting", "init_args": {"update_interval": 3}}
    objective = {"class_path": "MarginRewardEnforcement", "init_args": {"weighting": weighting}}
    values["model"]["objective"] = objective
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(values))
    (folder / "killer.py").write_text(KILLER)
    return path


def validations(run: Path) -> dict[int, float]:
    """Return τ-b by step."""
    events = EventAccumulator(str(run / "logs"))
    events.Reload()
    return {entry.step: entry.value for entry in events.Scalars("val/tau_total")}


def state(run: Path) -> dict[str, Any]:
    """Return everything in the last checkpoint that determines the rest of the run."""
    checkpoint = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)
    names = ("best_model_score", "best_score", "wait_count")
    callbacks = {
        name: {key: values[key] for key in names if values.get(key) is not None}
        for name, values in checkpoint["callbacks"].items()
    }
    return {
        "weights": checkpoint["state_dict"],
        "optimizer": checkpoint["optimizer_states"][0]["state"],
        "rates": checkpoint["lr_schedulers"][0]["_last_lr"],
        "callbacks": {name: values for name, values in callbacks.items() if values},
        "step": checkpoint["global_step"],
        "epoch": checkpoint["epoch"],
    }


def assert_same(first: Path, second: Path) -> None:
    torch.testing.assert_close(state(first), state(second), rtol=0, atol=0, equal_nan=True)
    assert validations(first) == validations(second)
    models = [(run / "model" / "model.safetensors").read_bytes() for run in (first, second)]
    assert models[0] == models[1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float, int], Path]:
    """A cached factory of folders with a configuration and its uninterrupted run."""

    @cache
    def make(val_check_interval: float, checkpoint_every: int) -> Path:
        folder = tmp_path_factory.mktemp("uninterrupted")
        config = write_config(folder, val_check_interval, checkpoint_every)
        assert main(["fit", f"--config={config}"]) == 0
        return folder

    return make


def test_two_runs_are_bit_equal_with_and_without_workers(runs: Callable[[float, int], Path], tmp_path: Path) -> None:
    uninterrupted = runs(3, 2)
    assert len(validations(uninterrupted / "run")) == STEPS / 3
    again = ["fit", f"--config={uninterrupted / 'config.yaml'}", f"--run-dir={tmp_path}", "--data.num_workers=2"]
    assert main(again) == 0
    assert_same(uninterrupted / "run", tmp_path)


@pytest.mark.parametrize(
    ("val_check_interval", "checkpoint_every", "hook", "at", "last"),
    [
        pytest.param(3, 2, "on_train_batch_end", 8, 6, id="between checkpoints in the middle of an epoch"),
        pytest.param(3, 2, "on_validation_start", 6, 4, id="in a validation"),
        pytest.param(3, 2, "on_train_batch_start", 6, 6, id="right after a validation"),
        pytest.param(1.0, 5, "on_validation_start", 10, 5, id="in the validation that ends an epoch"),
        pytest.param(1.0, 5, "on_train_batch_start", 10, 10, id="between two epochs"),
    ],
)
def test_resume_after_kill_equals_uninterrupted_run_bit_for_bit(
    runs: Callable[[float, int], Path],
    processes: ForkServerContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    val_check_interval: float,
    checkpoint_every: int,
    hook: str,
    at: int,
    last: int,
) -> None:
    uninterrupted = runs(val_check_interval, checkpoint_every)
    command = [
        "fit",
        f"--config={uninterrupted / 'config.yaml'}",
        f"--run-dir={tmp_path / 'run'}",
        "--data.num_workers=1",
    ]
    killer = [f"--trainer.callbacks{entry}" for entry in ("=killer.Killer", f".hook={hook}", f".step={at}")]
    monkeypatch.chdir(uninterrupted)  # the folder of the killer
    run = processes.Process(target=main, args=([*command, *killer],))
    run.start()
    run.join()
    assert run.exitcode == -signal.SIGKILL
    assert state(tmp_path / "run")["step"] == last
    assert main([*command, "--ckpt-path=last"]) == 0
    assert_same(uninterrupted / "run", tmp_path / "run")


def test_resume_of_moved_finished_run_saves_the_same_model(runs: Callable[[float, int], Path], tmp_path: Path) -> None:
    uninterrupted, run = runs(3, 2), tmp_path / "run"
    command = ["fit", f"--config={uninterrupted / 'config.yaml'}", f"--run-dir={run}"]
    shutil.copytree(uninterrupted / "run", run)
    shutil.rmtree(run / "model")
    assert main([*command, "--ckpt-path=last"]) == 0
    assert_same(uninterrupted / "run", run)
