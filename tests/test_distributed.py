"""Training on two ranks equals training on one: loss, gradients, weighting, agreement and model."""

import json
import os
import random
import socket
import sys
from multiprocessing.context import ForkServerContext
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
        self.save("gradients", trainer, torch.cat(gradients))

    def on_train_batch_end(self, trainer, module, *_):
        self.save("objective", trainer, module.objective.state_dict())

    def save(self, name, trainer, value):
        torch.save(value, f"{self.folder}/{name}-{trainer.global_rank}-{trainer.global_step}.pt")
"""

# Losses per pair, per group, per candidate and per statement; means and a sum; dynamic weights.
OBJECTIVE = """
class_path: SumObjective
init_args:
  objectives:
  - class_path: MarginRewardEnforcement
    init_args: {weighting: {class_path: DynamicWeighting, init_args: {update_interval: 2}}}
  - {class_path: BradleyTerry, init_args: {reduction: sum}}
  - class_path: PlackettLuce
  - class_path: CountRegression
  - class_path: FindingRegression
  - class_path: QualityOrder
  - class_path: LocatedErrors
  weights: [1.0, 0.1, 0.5, 0.25, 1.0, 1.0, 0.5]
"""


def write_records(path: Path, first: int, groups: int) -> str:
    """Write groups of 2 to 5 candidates, so that ranks have different numbers of pairs.

    Findings and located errors are known for half of them.
    """
    rng = random.Random(first)
    with path.open("w") as file:
        for number in range(first, first + groups):
            reference = " ".join(rng.choices(WORDS, k=rng.randint(4, 9)))
            candidates: list[dict[str, Any]] = [
                {"text": reference + " broken" * k, "errors": {tag: k * (j < 2) for j, tag in enumerate(TAGS)}}
                for k in range(2 + number % 4)
            ]
            for candidate in candidates[: number % 4]:
                located = {"side": "candidate", "statements": [candidate["text"]], "errors": candidate["errors"]}
                candidate |= {"matched": 1.0, "wrong": len(candidate["text"]) / 9, "located_errors": [located]}
            file.write(json.dumps({"id": str(number), "reference": reference, "candidates": candidates}) + "\n")
    return str(path)


def write_config(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    values = {
        "run_dir": str(folder / "run"),
        "criteria": "radcliq",
        "model": {
            "backbone": {"name": "tiny-bert", "lora": {"r": 4}},
            "architecture": "evidence",
            "objective": yaml.safe_load(OBJECTIVE),
        },
        "data": {
            # The 7 groups are the global batch of a step, which two ranks share as 4 and 3.
            "records": write_records(folder / "train.jsonl", 0, 7),
            "val_split": write_records(folder / "validation.jsonl", 100, 5),
            "batch_size": 7,
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


def run_rank(rank: int, port: str, folder: Path, command: list[str]) -> None:
    """Run a command as a rank that a launcher has started; the target of a new process."""
    os.environ.update(LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    os.chdir(folder)
    sys.path.insert(0, str(folder))  # of the recorder
    sys.exit(main(command))


def test_two_ranks_train_like_one(
    tmp_path: Path, processes: ForkServerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    config = write_config(one)
    monkeypatch.chdir(one)  # the folder of the recorder
    assert main(["fit", f"--config={config}"]) == 0
    options = ["--data.batch_size=4", "--trainer.strategy=ddp", "--trainer.devices=2"]
    command = ["fit", f"--config={write_config(two)}", *options]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ranks = [processes.Process(target=run_rank, args=(rank, port, two, command)) for rank in (0, 1)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    assert [process.exitcode for process in ranks] == [0, 0]

    global_ids = [json.loads(line) for line in (one / "ids-0.jsonl").read_text().splitlines()]
    rank_ids = [(two / f"ids-{rank}.jsonl").read_text().splitlines() for rank in (0, 1)]
    for ids, *parts in zip(global_ids, *rank_ids, strict=True):
        assert sorted(ids) == sorted(json.loads(parts[0]) + json.loads(parts[1]))
    for step in range(STEPS):
        expected = saved(one, f"gradients-0-{step}")
        for rank in (0, 1):
            actual = saved(two, f"gradients-{rank}-{step}")
            assert (actual - expected).norm() < 1e-5 * expected.norm()
            objective = saved(one, f"objective-0-{step + 1}")
            torch.testing.assert_close(saved(two, f"objective-{rank}-{step + 1}"), objective, equal_nan=True)
    torch.testing.assert_close(scalars(two / "run"), scalars(one / "run"), rtol=1e-5, atol=1e-5)
    predictions = [pq.read_table(folder / "run" / "validation.parquet").to_pydict() for folder in (one, two)]
    assert predictions[0].pop("group") == predictions[1].pop("group")
    torch.testing.assert_close(predictions[1], predictions[0], rtol=1e-3, atol=1e-3)  # adapters are rounded to float16
