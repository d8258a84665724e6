"""Groups of meaningless words, and settings of `fit` that train a tiny backbone on them in a second."""

import json
import random
from pathlib import Path
from typing import Any

import torch

from radreward.criteria import RadCliQCriteria

WORDS = ("lamp", "kettle", "stair", "window", "carpet", "drawer")
TAGS = RadCliQCriteria().tags
KILLER = """
import os, signal
import torch
from lightning.pytorch import Callback

torch.set_num_threads(1)  # as in the resumed process

class Killer(Callback):
    '''Kills the process at the n-th call of a hook after a number of steps.'''

    def __init__(self, hook: str, step: int, call: int = 1) -> None:
        self.remaining = call

        def kill(trainer, *_):
            self.remaining -= trainer.global_step == step
            if self.remaining == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        setattr(self, hook, kill)
"""
"""Module for the folder of a run."""


def write_records(path: Path, groups: int = 24, first: int = 0) -> Path:
    """Write groups of a reference and three candidates with increasing errors."""
    choose = random.Random(first)
    with path.open("w") as file:
        for number in range(first, first + groups):
            reference = " ".join(choose.choices(WORDS, k=8))
            candidates = [
                {"text": reference + " broken" * k, "errors": {tag: k * (j < 2) for j, tag in enumerate(TAGS)}}
                for k in range(3)
            ]
            file.write(json.dumps({"id": str(number), "reference": reference, "candidates": candidates}) + "\n")
    return path


def settings(folder: Path, **trainer: Any) -> dict[str, Any]:
    """Return the settings of a run in a folder, with its records."""
    return {
        "run_dir": str(folder / "run"),
        "criteria": "radcliq",
        "checkpoint_every": 1,
        "model": {"backbone": {"name": "tiny-bert", "lora": {"r": 4}}, "head_hidden_size": 4},
        "data": {"records": str(write_records(folder / "groups.jsonl")), "val_split": 0.3, "batch_size": 4},
        "trainer": {
            "max_steps": 6,
            "val_check_interval": 2,
            "log_every_n_steps": 1,
            "accelerator": "cpu",
            "enable_progress_bar": False,
            **trainer,
        },
    }


def saved_state(run: Path) -> dict[str, Any]:
    """Return everything in a run's last checkpoint that determines its rest."""
    found = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)
    return {
        "weights": found["state_dict"],
        "optimizer": found["optimizer_states"][0]["state"],
        "rates": found["lr_schedulers"][0]["_last_lr"],
        "step": found["global_step"],
    }
