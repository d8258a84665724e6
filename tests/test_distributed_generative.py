"""Two processes train models that explain as one does; where one of them cannot go on, the other does not wait."""

import json
import random
import runpy
import socket
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import yaml

from radreward.cli import main
from tests.test_distributed import WORDS, scalars

pytestmark = pytest.mark.timeout(900)  # of a busy machine; a minute of work
STEPS = 2
TAGS = ("tone", "length")

PARTS = """
import json
import os
import torch
from lightning.pytorch import Callback
from radreward.models.rollout_engine import Completion, RolloutEngine
from radreward.objectives import RewardFunction

torch.set_num_threads(1)


class Told(RolloutEngine):
    '''What it says to a prompt depends on the prompt alone; to some, the same each time.'''

    def sample(self, prompts, sampling):
        drawn = []
        for prompt in prompts:
            number = sum(map(sum, prompt))
            group = []
            for place in range(sampling.completions):
                place = place if number % 3 else 0
                text = f"<think>tone</think><tone>{(number + place) % 3}</tone><length>{place % 2}</length>"
                text = text if (number + place) % 5 else "<think> endless"
                tokens = tuple(3 + byte for byte in text.encode())
                group.append(Completion(tokens, (0.0,) * len(tokens), text, "stop"))
            drawn.append(tuple(group))
        return drawn


class Recorder(Callback):
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def on_fit_start(self, trainer, module):
        if hasattr(module, "engine"):
            module.engine = Told()

    def on_train_batch_start(self, trainer, module, batch, index):
        with open(f"{self.folder}/ids-{trainer.global_rank}.jsonl", "a") as file:
            file.write(json.dumps(batch.ids) + "\\n")

    def on_before_optimizer_step(self, trainer, module, optimizer):
        gradients = [parameter.grad.flatten() for parameter in module.parameters() if parameter.requires_grad]
        self.kept = [*getattr(self, "kept", []), torch.cat(gradients)]

    def on_train_end(self, trainer, module):
        objective = module.objective.state_dict() if hasattr(module, "objective") else {}
        kept = {"gradients": torch.stack(self.kept), "objective": objective}
        torch.save(kept, f"{self.folder}/kept-{trainer.global_rank}.pt")


class FailsInOne(RewardFunction):
    def forward(self, completions):
        if os.environ.get("LOCAL_RANK") == "1":
            raise RuntimeError("no lamp")
        return completions.valid.float()
"""

PROCESS = """
import contextlib, json, os, sys

os.environ.update(LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
os.chdir(folder)
sys.path.insert(0, folder)
from radreward.cli import main

for name, command in commands.items():
    with open(f"{folder}/said-{name}-{rank}.txt", "w") as file, contextlib.redirect_stderr(file):
        code = main(command)
        file.write(f"\\n{code}")
"""


def write_records(path: Path, groups: int) -> str:
    """Groups of 2 to 5 candidates, so that processes have different numbers of them."""
    choose = random.Random(groups)
    with path.open("w") as file:
        for number in range(groups):
            reference = " ".join(choose.choices(WORDS, k=5)) + (" long" * 9 if number == 3 else "")
            candidates = [
                {"text": reference + " b" * k, "errors": {"tone": k, "length": number % 2}}
                for k in range(2 + number % 4)
            ]
            file.write(json.dumps({"id": str(number), "reference": reference, "candidates": candidates}) + "\n")
    return str(path)


def settings(folder: Path, model: dict[str, Any], collator: dict[str, Any]) -> dict[str, Any]:
    backbone = {"name": "tiny-llama", "lora": {"r": 4}}
    template = {"class_path": "RadReasonTemplate", "init_args": {"instructed": False}}
    return {
        "criteria": {
            "class_path": "radreward.criteria.Criteria",
            "init_args": {"name": "two", "criteria": [{"name": tag, "description": "What it is."} for tag in TAGS]},
        },
        "model": {**model, "init_args": {"backbone": backbone, "optimizer": {"lr": 0.01}, **model["init_args"]}},
        "data": {
            "class_path": "radreward.data.datamodule.PairedReportDataModule",
            "init_args": {
                # 7 groups: the whole of them is the global batch of a step, which two processes share as 4 and 3.
                "records": write_records(folder / "train.jsonl", 7),
                "validation": write_records(folder / "validation.jsonl", 12),
                "groups_per_batch": 7,
                "collator": {**collator, "init_args": {"template": template, **collator["init_args"]}},
            },
        },
        "trainer": {
            "max_steps": STEPS,
            "val_check_interval": STEPS,
            "log_every_n_steps": 1,
            "accelerator": "cpu",
            "enable_progress_bar": False,
        },
    }


def analysis(folder: Path) -> dict[str, Any]:
    # Of 12 groups, one process would be done with 10 answers after a batch of three groups, the other would not.
    model = {"class_path": "radreward.modules.SFTModule", "init_args": {"decoded": 10}}
    lengths = {"max_length": 200, "max_answer": 120}
    return settings(folder, model, {"class_path": "radreward.data.collators.sft.SFTCollator", "init_args": lengths})


def policy(folder: Path) -> dict[str, Any]:
    objective = {
        "weighting": {"class_path": "Dynamic", "init_args": {"every": 2}},
        "scaling": {"class_path": "MajorityGuidedScaling"},
    }
    model = {
        "class_path": "radreward.modules.GRPOModule",
        "init_args": {
            "objective": {"class_path": "GRPO", "init_args": objective},
            "rollouts": {"completions": 3, "updates": 2},
        },
    }
    lengths = {"max_length": 90, "max_answer": 12, "too_long": "truncate"}
    return settings(folder, model, {"class_path": "RolloutCollator", "init_args": lengths})


class Runs(NamedTuple):
    """Folders with what one process and what two processes have kept, by the kind of run."""

    one: Path
    two: Path

    def kept(self, kind: str, rank: int | None = None) -> Any:
        """What the recorder has; of one process where no rank is given."""
        folder = self.one if rank is None else self.two
        return torch.load(folder / kind / f"kept-{rank or 0}.pt", weights_only=True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """All runs: two processes start once, and make theirs one after the other."""
    one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    commands: dict[Path, dict[str, list[str]]] = {}
    for folder, given in (
        (one, []),
        (two, ["--data.groups_per_batch=4", "--trainer.strategy=ddp", "--trainer.devices=2"]),
    ):
        (folder / "parts_of_runs.py").write_text(PARTS)
        commands[folder] = {}
        for kind, make in (("analysis", analysis), ("policy", policy)):
            (folder / kind).mkdir()
            config = folder / kind / "config.yaml"
            config.write_text(yaml.safe_dump(make(folder / kind)))
            recorder = ["--trainer.callbacks=parts_of_runs.Recorder", f"--trainer.callbacks.folder={folder / kind}"]
            run = [f"--run={folder / kind / 'run'}"]
            commands[folder][kind] = ["fit", f"--config={config}", *given, *run, *recorder]
    (two / "failing").mkdir()
    elsewhere = [f"--run={two / 'failing' / 'run'}", f"--trainer.callbacks.folder={two / 'failing'}"]
    fails = ["--model.objective.accuracy=parts_of_runs.FailsInOne"]
    commands[two]["failing"] = [*commands[two]["policy"], *elsewhere, *fails]

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(one)
        for command in commands[one].values():
            assert main(command) == 0

    context = get_context("forkserver")
    context.set_forkserver_preload(["radreward.cli.training"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = two / "process.py"
    script.write_text(PROCESS)
    given_each = [{"rank": rank, "port": port, "folder": str(two), "commands": commands[two]} for rank in (0, 1)]
    processes = [context.Process(target=runpy.run_path, args=(str(script), given)) for given in given_each]
    for process in processes:
        process.start()
    for process in processes:
        process.join(600)
    waiting = [process for process in processes if process.exitcode is None]
    for process in waiting:
        process.kill()
    assert not waiting, "a process waits for the other"
    return Runs(one, two)


def said(runs: Runs, name: str, rank: int) -> list[str]:
    return (runs.two / f"said-{name}-{rank}.txt").read_text().strip().splitlines()


@pytest.mark.parametrize("kind", ["analysis", "policy"])
def test_two_processes_train_as_one_does(runs: Runs, kind: str) -> None:
    for rank in (0, 1):
        assert said(runs, kind, rank)[-1] == "0", said(runs, kind, rank)
    whole = [json.loads(line) for line in (runs.one / kind / "ids-0.jsonl").read_text().splitlines()]
    shares = [(runs.two / kind / f"ids-{rank}.jsonl").read_text().splitlines() for rank in (0, 1)]
    for ids, *parts in zip(whole, *shares, strict=True):
        assert sorted(ids) == sorted(json.loads(parts[0]) + json.loads(parts[1]))
    expected = runs.kept(kind)
    assert len(expected["gradients"]) == STEPS * (2 if kind == "policy" else 1)
    for rank in (0, 1):
        found = runs.kept(kind, rank)
        for step, gradient in enumerate(expected["gradients"]):
            assert (found["gradients"][step] - gradient).norm() < 1e-4 * gradient.norm(), (rank, step)
        torch.testing.assert_close(found["objective"], expected["objective"], equal_nan=True)


@pytest.mark.parametrize("kind", ["analysis", "policy"])
def test_what_two_processes_log_is_of_both(runs: Runs, kind: str) -> None:
    one, two = (scalars(folder / kind / "run") for folder in (runs.one, runs.two))
    assert one.keys() == two.keys()
    # The largest of all, and a mean over tokens, are not means over completions.
    other = {"train/advantage/largest", "train/completions/engine_apart"}
    torch.testing.assert_close(
        *({name: values for name, values in logged.items() if name not in other} for logged in (two, one)),
        rtol=1e-4,
        atol=1e-5,
    )
    if kind == "policy":
        assert 0 < one["train/groups/without_gradient"][0] < 1
        assert one["train/truncated"][-1] > one["train/truncated"][0] > 0, "prompts that were cut add up"
    else:
        assert one["val/candidates"] == [19, 42], "of the first batches, then all"


def test_weights_of_criteria_are_of_what_both_have_seen(runs: Runs) -> None:
    states = [runs.kept("policy", rank)["objective"] for rank in (0, 1)]
    torch.testing.assert_close(*states, rtol=0, atol=0, equal_nan=True)
    assert not states[0]["weighting.f1"].isnan().all()


def test_where_one_process_fails_both_end_and_say_so(runs: Runs) -> None:
    assert [said(runs, "failing", rank)[-1] for rank in (0, 1)] == ["2", "2"]
    assert any("FailsInOne failed: RuntimeError: no lamp" in line for line in said(runs, "failing", 1))
    assert any("Another process cannot go on" in line for line in said(runs, "failing", 0))
