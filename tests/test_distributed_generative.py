"""Training of generative evaluators on two ranks equals training on one; a failure of one rank ends both."""

import json
import random
import runpy
import socket
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import yaml

from radreward.cli import main
from tests.test_distributed import WORDS, scalars

pytestmark = pytest.mark.timeout(900)  # about one minute on an idle machine
STEPS = 2
TAGS = ("tone", "length")

RUN_PARTS = """
import json
import os
import torch
from lightning.pytorch import Callback
from radreward.models.rollout_engine import Completion, RolloutEngine
from radreward.objectives import RewardFunction

torch.set_num_threads(1)


class FixedEngine(RolloutEngine):
    '''Completions that depend on the prompt only, and are all equal for some prompts.'''

    def sample(self, prompts, params):
        completions = []
        for prompt in prompts:
            number = sum(map(sum, prompt))
            group = []
            for index in range(params.num_completions):
                index = index if number % 3 else 0
                text = f"<think>tone</think><tone>{(number + index) % 3}</tone><length>{index % 2}</length>"
                text = text if (number + index) % 5 else "<think> endless"
                tokens = tuple(3 + byte for byte in text.encode())
                group.append(Completion(tokens, (0.0,) * len(tokens), text, "stop"))
            completions.append(tuple(group))
        return completions


class Recorder(Callback):
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def on_fit_start(self, trainer, module):
        if hasattr(module, "engine"):
            module.engine = FixedEngine()

    def on_train_batch_start(self, trainer, module, batch, index):
        with open(f"{self.folder}/ids-{trainer.global_rank}.jsonl", "a") as file:
            file.write(json.dumps(batch.ids) + "\\n")

    def on_before_optimizer_step(self, trainer, module, optimizer):
        gradients = [parameter.grad.flatten() for parameter in module.parameters() if parameter.requires_grad]
        self.gradients = [*getattr(self, "gradients", []), torch.cat(gradients)]

    def on_train_end(self, trainer, module):
        objective = module.objective.state_dict() if hasattr(module, "objective") else {}
        state = {"gradients": torch.stack(self.gradients), "objective": objective}
        torch.save(state, f"{self.folder}/state-{trainer.global_rank}.pt")


class FailsOnOneRank(RewardFunction):
    def forward(self, completions):
        if os.environ.get("LOCAL_RANK") == "1":
            raise RuntimeError("no lamp")
        return completions.well_formed.float()
"""

PROCESS = """
import contextlib, json, os, sys

os.environ.update(LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
os.chdir(folder)
sys.path.insert(0, folder)
from radreward.cli import main

for name, command in commands.items():
    with open(f"{folder}/stderr-{name}-{rank}.txt", "w") as file, contextlib.redirect_stderr(file):
        code = main(command)
        file.write(f"\\n{code}")
"""


def write_records(path: Path, groups: int) -> str:
    """Write groups of 2 to 5 candidates, so that ranks have different numbers of them."""
    rng = random.Random(groups)
    with path.open("w") as file:
        for number in range(groups):
            reference = " ".join(rng.choices(WORDS, k=5)) + (" long" * 9 if number == 3 else "")
            candidates = [
                {"text": reference + " b" * k, "errors": {"tone": k, "length": number % 2}}
                for k in range(2 + number % 4)
            ]
            file.write(json.dumps({"id": str(number), "reference": reference, "candidates": candidates}) + "\n")
    return str(path)


def settings(folder: Path, model: dict[str, Any], collator: dict[str, Any]) -> dict[str, Any]:
    criteria = folder / "criteria.yaml"
    entries = [{"name": tag, "description": "What it is."} for tag in TAGS]
    criteria.write_text(yaml.safe_dump({"name": "two", "criteria": entries}))
    backbone = {"name": "tiny-llama", "lora": {"r": 4}}
    template = {
        "class_path": "radreward.systems.radreason.prompt.RadReasonTemplate",
        "init_args": {"include_instruction": False},
    }
    return {
        "criteria": str(criteria),
        "model": {**model, "init_args": {"backbone": backbone, "optimizer": {"lr": 0.01}, **model["init_args"]}},
        "data": {
            "class_path": "radreward.data.paired_datamodule.PairedReportDataModule",
            "init_args": {
                # The 7 groups are the global batch of a step, which two ranks share as 4 and 3.
                "records": write_records(folder / "train.jsonl", 7),
                "val_split": write_records(folder / "validation.jsonl", 12),
                "batch_size": 7,
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


def sft_config(folder: Path) -> dict[str, Any]:
    # With 12 groups, one rank alone would reach 10 decoded answers a batch earlier than the other.
    model = {"class_path": "radreward.modules.SFTModule", "init_args": {"max_decoded": 10}}
    lengths = {"max_length": 200, "max_answer_length": 120}
    return settings(folder, model, {"class_path": "radreward.data.collators.sft.SFTCollator", "init_args": lengths})


def grpo_config(folder: Path) -> dict[str, Any]:
    objective = {
        "weighting": {"class_path": "DynamicWeighting", "init_args": {"update_interval": 2}},
        "scaling": {"class_path": "MajorityGuidedScaling"},
    }
    model = {
        "class_path": "radreward.modules.GRPOModule",
        "init_args": {
            "objective": {"class_path": "GRPO", "init_args": objective},
            "rollouts": {"num_generations": 3, "num_iterations": 2},
        },
    }
    lengths = {"max_length": 90, "max_answer_length": 12, "on_too_long": "truncate"}
    return settings(folder, model, {"class_path": "RolloutCollator", "init_args": lengths})


class Runs(NamedTuple):
    """Folders of the runs on one rank and on two ranks."""

    one: Path
    two: Path

    def state(self, kind: str, rank: int | None = None) -> Any:
        """Return the recorded state of a rank, or of the run on one rank."""
        folder = self.one if rank is None else self.two
        return torch.load(folder / kind / f"state-{rank or 0}.pt", weights_only=True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, processes: ForkServerContext) -> Runs:
    """Run all commands: two processes start once and run their commands in sequence."""
    one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    commands: dict[Path, dict[str, list[str]]] = {}
    for folder, options in (
        (one, []),
        (two, ["--data.batch_size=4", "--trainer.strategy=ddp", "--trainer.devices=2"]),
    ):
        (folder / "run_parts.py").write_text(RUN_PARTS)
        commands[folder] = {}
        for kind, make_config in (("sft", sft_config), ("grpo", grpo_config)):
            (folder / kind).mkdir()
            config = folder / kind / "config.yaml"
            config.write_text(yaml.safe_dump(make_config(folder / kind)))
            recorder = ["--trainer.callbacks=run_parts.Recorder", f"--trainer.callbacks.folder={folder / kind}"]
            run = [f"--run-dir={folder / kind / 'run'}"]
            commands[folder][kind] = ["fit", f"--config={config}", *options, *run, *recorder]
    (two / "failing").mkdir()
    folders = [f"--run-dir={two / 'failing' / 'run'}", f"--trainer.callbacks.folder={two / 'failing'}"]
    fails = ["--model.objective.accuracy_reward=run_parts.FailsOnOneRank"]
    commands[two]["failing"] = [*commands[two]["grpo"], *folders, *fails]

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(one)
        for command in commands[one].values():
            assert main(command) == 0

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = two / "process.py"
    script.write_text(PROCESS)
    arguments = [{"rank": rank, "port": port, "folder": str(two), "commands": commands[two]} for rank in (0, 1)]
    ranks = [processes.Process(target=runpy.run_path, args=(str(script), options)) for options in arguments]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(600)
    waiting = [process for process in ranks if process.exitcode is None]
    for process in waiting:
        process.kill()
    assert not waiting, "one process still waits for the other"
    return Runs(one, two)


def stderr_lines(runs: Runs, name: str, rank: int) -> list[str]:
    return (runs.two / f"stderr-{name}-{rank}.txt").read_text().strip().splitlines()


@pytest.mark.parametrize("kind", ["sft", "grpo"])
def test_two_ranks_train_like_one(runs: Runs, kind: str) -> None:
    for rank in (0, 1):
        assert stderr_lines(runs, kind, rank)[-1] == "0", stderr_lines(runs, kind, rank)
    global_ids = [json.loads(line) for line in (runs.one / kind / "ids-0.jsonl").read_text().splitlines()]
    rank_ids = [(runs.two / kind / f"ids-{rank}.jsonl").read_text().splitlines() for rank in (0, 1)]
    for ids, *parts in zip(global_ids, *rank_ids, strict=True):
        assert sorted(ids) == sorted(json.loads(parts[0]) + json.loads(parts[1]))
    expected = runs.state(kind)
    assert len(expected["gradients"]) == STEPS * (2 if kind == "grpo" else 1)
    for rank in (0, 1):
        actual = runs.state(kind, rank)
        for step, gradient in enumerate(expected["gradients"]):
            assert (actual["gradients"][step] - gradient).norm() < 1e-4 * gradient.norm(), (rank, step)
        torch.testing.assert_close(actual["objective"], expected["objective"], equal_nan=True)


@pytest.mark.parametrize("kind", ["sft", "grpo"])
def test_logged_values_cover_both_ranks(runs: Runs, kind: str) -> None:
    one, two = (scalars(folder / kind / "run") for folder in (runs.one, runs.two))
    assert one.keys() == two.keys()
    # A maximum and a mean over tokens are not means over completions.
    excluded = {"train/advantage/max_abs", "train/completions/engine_logp_gap"}
    torch.testing.assert_close(
        *({name: values for name, values in logged.items() if name not in excluded} for logged in (two, one)),
        rtol=1e-4,
        atol=1e-5,
    )
    if kind == "grpo":
        assert 0 < one["train/groups/without_gradient"][0] < 1
        assert one["train/truncated"][-1] > one["train/truncated"][0] > 0, "truncated prompts accumulate"
    else:
        assert one["val/candidates"] == [19, 42], "first batches, then all candidates"


def test_criterion_weights_use_outcomes_of_both_ranks(runs: Runs) -> None:
    states = [runs.state("grpo", rank)["objective"] for rank in (0, 1)]
    torch.testing.assert_close(*states, rtol=0, atol=0, equal_nan=True)
    assert not states[0]["weighting.f1"].isnan().all()


def test_failure_of_one_rank_ends_both_with_message(runs: Runs) -> None:
    assert [stderr_lines(runs, "failing", rank)[-1] for rank in (0, 1)] == ["2", "2"]
    assert any("FailsOnOneRank failed: RuntimeError: no lamp" in line for line in stderr_lines(runs, "failing", 1))
    assert any("Another rank failed" in line for line in stderr_lines(runs, "failing", 0))
