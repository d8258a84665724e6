"""Two processes train as one does: the same loss, gradients, weighting, agreement and model."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
import yaml
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from radreward.cli import main
from radreward.criteria import RadCliQCriteria

TAGS = RadCliQCriteria().tags
WORDS = ["lamp", "kettle", "stair", "window", "carpet", "drawer"]
STEPS = 4

RECORDER = """
import json
import torch
from lightning.pytorch import Callback

torch.set_num_threads(1)

class Recorder(Callback):
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def on_train_batch_start(self, trainer, module, batch, index):
        with open(f"{self.folder}/ids-{trainer.global_rank}.jsonl", "a") as file:
            file.write(json.dumps(batch.ids) + "\\n")

    def on_before_optimizer_step(self, trainer, module, optimizer):
        gradients = [parameter.grad.flatten() for parameter in module.parameters() if parameter.requires_grad]
        self.keep("gradients", trainer, torch.cat(gradients))

    def on_train_batch_end(self, trainer, module, *_):
        self.keep("objective", trainer, module.objective.state_dict())

    def keep(self, name, trainer, value):
        torch.save(value, f"{self.folder}/{name}-{trainer.global_rank}-{trainer.global_step}.pt")
"""

# Losses per pair, per group and per candidate; means and a sum; weights that follow what was counted.
OBJECTIVE = """
class_path: SumOfObjectives
init_args:
  objectives:
  - {class_path: MarginRewardEnforcement, init_args: {weighting: {class_path: Dynamic, init_args: {every: 2}}}}
  - {class_path: BradleyTerry, init_args: {reduction: sum}}
  - class_path: ListwiseRanking
  - class_path: CountRegression
  coefficients: [1.0, 0.1, 0.5, 0.25]
"""


def write_records(path: Path, first: int, groups: int) -> str:
    """Groups of 2 to 5 candidates, so that processes have different numbers of pairs."""
    choose = random.Random(first)
    with path.open("w") as file:
        for number in range(first, first + groups):
            reference = " ".join(choose.choices(WORDS, k=choose.randint(4, 9)))
            candidates = [
                {"text": reference + " broken" * k, "errors": {tag: k * (j < 2) for j, tag in enumerate(TAGS)}}
                for k in range(2 + number % 4)
            ]
            file.write(json.dumps({"id": str(number), "reference": reference, "candidates": candidates}) + "\n")
    return str(path)


def write_config(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    values = {
        "run": str(folder / "run"),
        "criteria": "RadCliQ",
        "model": {
            "backbone": {"name": "tiny-bert", "lora": {"r": 4}},
            "hidden": 4,
            "objective": yaml.safe_load(OBJECTIVE),
        },
        "data": {
            # 7 groups: the whole of them is the global batch of a step, which two processes share as 4 and 3.
            "records": write_records(folder / "train.jsonl", 0, 7),
            "validation": write_records(folder / "validation.jsonl", 100, 5),
            "groups_per_batch": 7,
        },
        "trainer": {
            "max_steps": STEPS,
            "val_check_interval": 2,
            "log_every_n_steps": 1,
            "accelerator": "cpu",
            "enable_progress_bar": False,
            "callbacks": {"class_path": "recorder.Recorder", "init_args": {"folder": str(folder)}},
        },
    }
    (folder / "recorder.py").write_text(RECORDER)
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def scalars(run: Path) -> dict[str, list[float]]:
    events = EventAccumulator(str(run / "logs"))
    events.Reload()
    return {
        tag: [entry.value for entry in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
        if tag.startswith(("train/", "val/", "final/"))
    }


def saved(folder: Path, name: str) -> Any:
    return torch.load(folder / f"{name}.pt", weights_only=True)


def test_two_processes_train_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    config = write_config(one)
    monkeypatch.chdir(one)  # where the recorder is
    assert main(["fit", f"--config={config}"]) == 0
    command = [sys.executable, "-m", "radreward", "fit", f"--config={write_config(two)}"]
    given = ["--data.groups_per_batch=4", "--trainer.strategy=ddp", "--trainer.devices=2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, *given], cwd=two, env=environment, check=True, timeout=200)

    whole = [json.loads(line) for line in (one / "ids-0.jsonl").read_text().splitlines()]
    shares = [(two / f"ids-{rank}.jsonl").read_text().splitlines() for rank in (0, 1)]
    for ids, *parts in zip(whole, *shares, strict=True):
        assert sorted(ids) == sorted(json.loads(parts[0]) + json.loads(parts[1]))
    for step in range(STEPS):
        expected = saved(one, f"gradients-0-{step}")
        for rank in (0, 1):
            found = saved(two, f"gradients-{rank}-{step}")
            assert (found - expected).norm() < 1e-5 * expected.norm()
            kept = saved(one, f"objective-0-{step + 1}")
            torch.testing.assert_close(saved(two, f"objective-{rank}-{step + 1}"), kept, equal_nan=True)
    torch.testing.assert_close(scalars(two / "run"), scalars(one / "run"), rtol=1e-5, atol=1e-5)
    judged = [pq.read_table(folder / "run" / "validation.parquet").to_pydict() for folder in (one, two)]
    assert judged[0].pop("group") == judged[1].pop("group")
    torch.testing.assert_close(judged[1], judged[0], rtol=1e-3, atol=1e-3)  # adapters are rounded to 16 bits
