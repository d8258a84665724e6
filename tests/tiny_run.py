"""Groups of words that mean nothing, and settings of `fit` that train a tiny backbone on them in a second."""

import json
import random
from pathlib import Path
from typing import Any

import torch

from radreward.criteria import RadCliQCriteria

WORDS = ("lamp", "kettle", "stair", "window", "carpet", "drawer")
TAGS = RadCliQCriteria().tags


def write_records(path: Path, groups: int = 24, first: int = 0) -> Path:
    """Groups of a reference and three candidates, worse by two errors each."""
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
    """Of a run in a folder, with records there."""
    return {
        "run": str(folder / "run"),
        "criteria": "RadCliQ",
        "checkpoint_every": 1,
        "model": {"backbone": {"name": "tiny-bert", "lora": {"r": 4}}, "hidden": 4},
        "data": {"records": str(write_records(folder / "groups.jsonl")), "validation": 0.3, "groups_per_batch": 4},
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
    """All of a run's last checkpoint that decides what comes next."""
    found = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)
    return {
        "weights": found["state_dict"],
        "optimizer": found["optimizer_states"][0]["state"],
        "rates": found["lr_schedulers"][0]["_last_lr"],
        "step": found["global_step"],
    }
